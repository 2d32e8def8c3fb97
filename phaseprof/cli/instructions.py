"""What ``run`` is told to instrument: from its options, else the environment, else ``[tool.phaseprof]``."""

from __future__ import annotations

import argparse
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path

from phaseprof.cli.targets import Target, parse_target, parse_track, parse_watch
from phaseprof.errors import UsageError
from phaseprof.live.project_file import ProjectTable, read_project_table
from phaseprof.live.warn import warn_user

PARSERS: Mapping[str, Callable[[str, str], Target]] = {
    "phase": parse_target, "generation": parse_target, "watch": parse_watch, "track": parse_track,
}  # fmt: skip


def collect_targets(args: argparse.Namespace, environ: Mapping[str, str], folder: Path) -> list[Target]:
    """Return every target; each option comes from the first source that gives it.

    Raises:
        UsageError: a text is not of its option's form.
    """
    table = read_project_table(folder)
    targets = []
    for name, parse in PARSERS.items():
        texts = getattr(args, name) or _from_environment(name, environ)
        targets += [parse(f"--{name}", text) for text in texts] if texts else _from_table(name, parse, table)
    return targets


def _from_environment(name: str, environ: Mapping[str, str]) -> list[str]:
    return [text for text in environ.get(f"PHASEPROF_{name.upper()}", "").split(",") if text.strip()]


def _from_table(name: str, parse: Callable[[str, str], Target], table: ProjectTable) -> list[Target]:
    """What the file says; what is wrong in it is warned of, as for settings, and left out."""
    try:
        return [parse(f"--{name}", text) for text in _texts(name, table.values.get(name, []))]
    except UsageError as error:
        warn_user(f"ignored in {table.file} [tool.phaseprof]: {error}")
        return []


def _texts(name: str, given: object) -> list[str]:
    if name == "track" and isinstance(given, dict):
        given = [f"{label}={target}" for label, target in given.items()]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        form = "a table of name = text" if name == "track" else "a text or a list of texts"
        raise UsageError(f"{name} must be {form} (got {reprlib.repr(given)})")
    return texts
