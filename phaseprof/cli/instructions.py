"""What ``run`` is told to instrument: from its options, else the environment, else ``[tool.phaseprof]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from phaseprof.cli.targets import Target, parse_target, parse_track, parse_watch
from phaseprof.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PARSERS: Mapping[str, Callable[[str, str], Target]] = {
    "phase": parse_target, "generation": parse_target, "watch": parse_watch, "track": parse_track,
}  # fmt: skip


def collect_targets(args: argparse.Namespace, environ: Mapping[str, str], folder: Path) -> list[Target]:
    """Return every target; each option comes from the first source that gives it.

    Raises:
        UsageError: a text is not of its option's form.
    """
    table = read_table(folder)
    targets = []
    for name, parse in PARSERS.items():
        texts = getattr(args, name) or _from_environment(name, environ) or _from_table(name, table)
        targets += [parse(f"--{name}", text) for text in texts]
    return targets


def _from_environment(name: str, environ: Mapping[str, str]) -> list[str]:
    return [text for text in environ.get(f"PHASEPROF_{name.upper()}", "").split(",") if text.strip()]


def _from_table(name: str, table: Mapping[str, object]) -> list[str]:
    given = table.get(name, [])
    if name == "track" and isinstance(given, dict):
        given = [f"{label}={target}" for label, target in given.items()]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        form = "a table of name = text" if name == "track" else "a text or a list of texts"
        raise UsageError(f"{name} in [tool.phaseprof] must be {form} (got {given!r})")
    return texts


def read_table(folder: Path) -> Mapping[str, object]:
    """Return ``[tool.phaseprof]`` of the nearest ``pyproject.toml``, empty where there is none or it is not TOML."""
    for place in (folder, *folder.parents):
        try:
            text = (place / "pyproject.toml").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        try:
            table = tomllib.loads(text).get("tool", {}).get("phaseprof", {})
        except (tomllib.TOMLDecodeError, AttributeError):
            return {}
        return table if isinstance(table, dict) else {}
    return {}
