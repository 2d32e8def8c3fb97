"""Aim: the figures of a profiler as metrics of a run, and the findings as a text with a table.

pp.integrations.aim.watch(run)              # logs at the end of each generation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._log import CONCLUSION, FINDINGS, Cell, Step, Watch, markdown_of

if TYPE_CHECKING:
    from phaseprof.profiler import Findings, Profiler

try:
    import aim as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.aim needs aim; pip install aim") from error

__all__ = ["watch"]


def watch(run: Any, *, profiler: Profiler | None = None, every: int = 1, step: Step | None = None) -> None:
    """Log by itself at the end of every ``every``-th generation.

    The findings are logged when the profiler or the run is closed, whichever comes first.

    Args:
        run: an ``aim.Run``.
        profiler: whose figures; ``None``: the default one.
        every: log every so many generations.
        step: tells the step; ``None``: generations are counted.

    Raises:
        UsageError: ``every`` is less than 1.
    """
    Watch(_Sink(run), profiler, every=every, step=step).before(run, "close")


class _Sink:
    """Logs to a run."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def scalars(self, figures: dict[str, float], step: int) -> None:
        for name, value in figures.items():
            self._run.track(value, name=name, step=step)

    def findings(self, findings: Findings, rows: list[list[Cell]]) -> None:
        self._run.track(_package.Text(markdown_of(findings, rows)), name=FINDINGS)
        self._run[CONCLUSION] = findings.conclusion
