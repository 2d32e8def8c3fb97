"""CSV: the figures of a profiler as rows of a file, and the findings as a table and a text beside it.

    pp.integrations.csv.watch("memory.csv")     # rows at the end of each generation

The columns are those that ``phaseprof import`` reads: step, point, metric, value, time_s.  At the end of the run
``memory.findings.csv`` and ``memory.findings.txt`` follow.
"""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.integrations._log import COLUMNS, Cell, Watch
from phaseprof.integrations._log import Step as Step

if TYPE_CHECKING:
    from phaseprof.profiler import Findings, Profiler

__all__ = ["watch"]

_HEAD = ("step", "point", "metric", "value", "time_s")
_POINT = "generation end"


def watch(
    file: str | os.PathLike[str], *, profiler: Profiler | None = None, every: int = 1, step: Step | None = None
) -> None:
    """Write by itself at the end of every ``every``-th generation; a file that exists is written anew.

    Args:
        file: the rows; the findings go to files of the same name that end in ``.findings.csv`` and ``.findings.txt``.
        profiler: whose figures; ``None``: the default one.
        every: write every so many generations.
        step: tells the step; ``None``: generations are counted.

    Raises:
        UsageError: ``every`` is less than 1.
        OSError: the file cannot be written.
    """
    Watch(_Sink(Path(file)), profiler, every=every, step=step)


class _Sink:
    """Appends to a file, which is open only while it is written."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began = time.monotonic()
        _write(file, "w", [_HEAD])

    def scalars(self, figures: dict[str, float], step: int) -> None:
        now = round(time.monotonic() - self._began, 3)
        _write(self._file, "a", [(step, _POINT, name, value, now) for name, value in figures.items()])

    def findings(self, findings: Findings, rows: list[list[Cell]]) -> None:
        _write(self._file.with_suffix(".findings.csv"), "w", [COLUMNS, *rows])
        self._file.with_suffix(".findings.txt").write_text(f"{findings}\n", encoding="utf-8")


def _write(file: Path, mode: str, rows: list[tuple[object, ...] | list[Cell]]) -> None:
    with file.open(mode, encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
