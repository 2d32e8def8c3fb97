"""Printing to the terminal, whatever letters it knows."""

from __future__ import annotations

import json
import sys

from phaseprof.units import for_terminal


def emit(text: str) -> None:
    """Print a text; what the stream cannot encode is shown as escapes instead of ending the command."""
    encoding = sys.stdout.encoding or "utf-8"
    print(for_terminal(text).encode(encoding, "backslashreplace").decode(encoding))


def complain(text: str) -> None:
    """Print one line of an error or a remark, beside what is printed."""
    sys.stderr.write(for_terminal(" ".join(text.split())) + "\n")


def emit_json(tree: object) -> None:
    """Print JSON-ready data, one document."""
    emit(json.dumps(tree, allow_nan=False))
