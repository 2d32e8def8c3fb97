"""The table ``[tool.phaseprof]`` of the project that the program runs in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.interrupts import raise_the_programs
from phaseprof.live.origin import read_regular, repository_root

_MAX_BYTES = 1 << 20  # a hundred times a usual one


@dataclass(frozen=True)
class ProjectTable:
    """``[tool.phaseprof]`` of one file.

    Attributes:
        file: where it is; ``None`` if no file has one.
        values: its keys.
        problem: what is wrong with the table as a whole, or empty.
    """

    file: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    problem: str = ""


def read_project_table(folder: Path | None) -> ProjectTable:
    """Return the table of ``pyproject.toml`` in a folder, or else in the root of the folder's repository.

    Other folders above do not count: what lies in a shared folder is not the user's word.  A file that is not TOML is
    passed over: its own tools complain about it.
    """
    if folder is None:
        return ProjectTable()
    for place in dict.fromkeys((folder, repository_root(folder))):
        found = None if place is None else _read_table(place / "pyproject.toml")
        if found is not None:
            return found
    return ProjectTable()


def _read_table(file: Path) -> ProjectTable | None:
    try:
        text = read_regular(file, _MAX_BYTES).decode()
        if sys.version_info >= (3, 11):
            import tomllib
        else:  # a package, which a program that is only observed need not have
            import tomli as tomllib
        tools = tomllib.loads(text).get("tool")
    except (OSError, ValueError, RecursionError) as error:
        raise_the_programs(error)
        return None
    table = tools.get("phaseprof") if isinstance(tools, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        return ProjectTable(file, problem=f"{file} tool.phaseprof must be a table; write [tool.phaseprof]")
    return ProjectTable(file, table)


def working_folder() -> Path | None:
    """Return the working folder; ``None`` if it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        raise_the_programs(error)
        return None
