"""What all trackers share: figures at the end of each generation, findings as text and table at the end of the run."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Union

from phaseprof.api import get_profiler
from phaseprof.errors import UsageError
from phaseprof.integrations._steps import wrap_method
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.warn import warn_user

if TYPE_CHECKING:
    from phaseprof.profiler import Findings, Profiler

COLUMNS = (
    "verdict", "kind", "phase", "subject", "held by", "slope", "slope_unit", "since_generation", "eta_s", "summary",
    "advice",
)  # fmt: skip
# Names under which findings are logged.
CONCLUSION, FINDINGS = "phaseprof/conclusion", "phaseprof/findings"

Step = Callable[[], int]
Cell = Union[str, float, int, None]  # noqa: UP007 - evaluated at run time on Python 3.10


class Sink(Protocol):
    """Where a tracker's figures go."""

    def scalars(self, figures: dict[str, float], step: int) -> object:
        """Log figures by their keys."""

    def findings(self, findings: Findings, rows: list[list[Cell]]) -> object:
        """Log the findings: ``str()`` of them is the text, ``rows`` a table with ``COLUMNS``."""


class Watch:
    """Logs to a sink while a profiler records, and its findings once: at the end of the first of the two.

    Args:
        sink: where.
        profiler: whose figures; ``None``: the default one.
        every: log at the end of every so many generations.
        step: tells the tracker's own step; ``None``: generations are counted.

    Raises:
        UsageError: ``every`` is less than 1.
    """

    def __init__(self, sink: Sink, profiler: Profiler | None, *, every: int, step: Step | None) -> None:
        if every < 1:
            raise UsageError(f"every must be >= 1 (got {every!r})")
        self._sink = sink
        self._profiler = get_profiler() if profiler is None else profiler
        self._every, self._step = every, step
        self._n, self._is_done = 0, False
        self._profiler.on_generation(self._log, every=every)
        self._profiler.on_close(self.finish)
        # Trackers end their runs when the interpreter ends, the last one that was begun first: this comes before.
        held = weakref.ref(self)
        atexit.register(_finish, held)

    def _log(self) -> None:
        self._n += 1
        figures = self._profiler.scalars()
        if figures and not self._is_done:
            self._sink.scalars(figures, self._n * self._every - 1 if self._step is None else self._step())

    def finish(self) -> None:
        """Log the findings, once."""
        if self._is_done:
            return
        self._is_done = True
        findings = self._profiler.findings()
        self._sink.findings(findings, rows_of(findings))

    def before(self, owner: object, name: str) -> None:
        """Finish before a method of the tracker's run ends it."""
        held = weakref.ref(self)

        def wrap(end: Callable[..., object]) -> Callable[..., object]:
            def ended(*args: object, **kwargs: object) -> object:
                _finish(held)
                return end(*args, **kwargs)

            return ended

        wrap_method(owner, name, wrap)


def _finish(held: weakref.ref[Watch]) -> None:
    watch = held()
    if watch is not None:
        try:
            watch.finish()
        except Exception as error:  # noqa: BLE001 - a tracker that is down is no reason to stop
            raise_the_programs(error)
            warn_user(f"an integration failed: {type(error).__name__}: {error}")


def rows_of(findings: Findings) -> list[list[Cell]]:
    """Make a table of findings, a row each."""
    return [
        [
            f.verdict, f.kind, f.phase, f.subject, " > ".join(f.holder), f.slope, f.slope_unit,
            None if f.since_generation is None else str(f.since_generation), f.eta_s, f.summary, f.advice,
        ]
        for f in findings
    ]  # fmt: skip


def markdown_of(findings: Findings, rows: list[list[Cell]]) -> str:
    """Write the conclusion, the text and the table as Markdown, for trackers that show texts."""
    lines = [f"**{findings.conclusion}.**", "", "```text", str(findings), "```"]
    if rows:
        lines += ["", f"| {' | '.join(COLUMNS)} |", f"| {' | '.join('---' for _ in COLUMNS)} |"]
        lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: Cell) -> str:
    text = "" if value is None else f"{value:,.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
