"""Printing to the terminal, whatever letters it knows."""

from __future__ import annotations

import json
import sys


def emit(text: str) -> None:
    """Print a text; what the stream cannot encode is shown as escapes instead of ending the command."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def emit_json(tree: object) -> None:
    """Print JSON-ready data, one document."""
    emit(json.dumps(tree, allow_nan=False))
