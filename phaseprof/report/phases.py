"""PHASES AND CHECKPOINTS: how often, how long, what memory each adds and how it climbs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from phaseprof.recording.model import BUSY, OUTSIDE, PhaseTotals, ProcessRun
from phaseprof.recording.series import Series, Sums
from phaseprof.report.access import count_generations, devices_in, series_of
from phaseprof.report.text import Column, Report, Style, columns, elide, section, wrap
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

LEAST_READINGS = 4  # below it nobody can tell what climbs


@dataclass(frozen=True)
class PhaseRow:
    """One phase, block or checkpoint; ``None`` where something was not measured.

    Attributes:
        name: its label.
        role: ``phase``, ``block`` or ``checkpoint``.
        visits: how often it was entered or passed.
        seconds: time in it a generation, what is nested in it included.
        is_estimate: some visits were only counted, so that the others stand for them.
        added_bytes: memory that a generation adds while it is the innermost phase.
        peak_bytes: the largest reading at its end, and of the samples inside it.
        climbs_bytes: by how much the reading at its end climbs from one generation to the next: what stays.
    """

    name: str
    role: str
    visits: int
    seconds: float | None
    added_bytes: float | None
    peak_bytes: float | None
    climbs_bytes: float | None
    is_estimate: bool = False

    @property
    def time(self) -> str:
        """The time as text, marked where it is an estimate."""
        return "-" if self.seconds is None else "~" * self.is_estimate + format_duration_short(self.seconds)


@dataclass(frozen=True)
class PhasesReport(Report):
    """Every phase, block and checkpoint in the order of the loop; ``memory`` says which memory the figures are of."""

    rows: tuple[PhaseRow, ...]
    memory: str

    @property
    def estimates(self) -> str:
        """What the mark of an estimate means; empty where there is none."""
        has_some = any(row.is_estimate and row.seconds is not None for row in self.rows)
        return "A time with ~ was measured on some of the visits and stands for all." if has_some else ""

    def render(self, style: Style) -> str:
        """Lay the table out as text."""
        return section("PHASES AND CHECKPOINTS", "phases", self._body(style), style)

    def _body(self, style: Style) -> list[str]:
        if not self.rows:
            return ["No phase and no checkpoint was passed."]
        head, tail = elide(len(self.rows))
        shown = [*self.rows[:head], *self.rows[len(self.rows) - tail :]]
        layout = (
            Column("", 20), Column("Visits", 6), Column("Time/gen", 8), Column("Added/gen", 11), Column("Peak", 10),
            Column("Climbs/gen", 11),
        )  # fmt: skip
        lines = columns(layout, [_cells(row) for row in shown], style)
        if tail:
            lines.insert(2 + head, f"... ({len(self.rows) - head - tail:,} more)")
        return [*lines, *wrap(self.legend, style.width, style)]

    @property
    def legend(self) -> str:
        """Say what the columns are."""
        note = f"Added is what the phase itself adds to {self.memory}; Climbs is how much the reading at its end rises."
        return " ".join(filter(None, (note, self.estimates)))


def _cells(row: PhaseRow) -> tuple[str, ...]:
    return (
        row.name, f"{row.visits:,}", row.time, _signed(row.added_bytes), format_bytes(row.peak_bytes),
        _signed(row.climbs_bytes),
    )  # fmt: skip


def _signed(n_bytes: float | None) -> str:
    return "-" if n_bytes is None else format_signed_bytes(round(n_bytes))


def format_duration_short(seconds: float) -> str:
    """Write a duration that may be far below a second.

    >>> format_duration_short(0.00001), format_duration_short(0.0123), format_duration_short(0.5)
    ('0.01 ms', '12.3 ms', '500 ms')
    """
    if seconds >= 1:
        return format_duration(seconds)
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-5 else f"{seconds * 1e3:.2f} ms"


def build_phases(process: ProcessRun) -> PhasesReport:
    """Report every label that was passed."""
    process.fold()
    metric, memory = _metric(process)
    labels = [label for label in process.labels.values() if label.role in ("phase", "block", "checkpoint")]
    spans = {label.name for label in labels if label.role != "checkpoint"}
    chosen = {label.name: label.role for label in labels if label.role != "checkpoint" or label.name not in spans}
    times = _Times(process, max(1, count_generations(process)))
    rows = [_row(process, metric, name, role, times) for name, role in chosen.items()]
    return PhasesReport(tuple(row for row in rows if row.visits), memory)


def _metric(process: ProcessRun) -> tuple[str, str]:
    """The memory that the figures are of: what the first device has allocated, else the process's private memory."""
    metrics = {metric for _, metric in process.series}
    devices = devices_in(metrics)
    if devices:
        return f"{devices[0]}/allocated_bytes", f"what {devices[0]} has allocated"
    return "anonymous_bytes", "the process's private (anonymous) memory"


def _row(process: ProcessRun, metric: str, name: str, role: str, times: _Times) -> PhaseRow:
    at = name if role == "checkpoint" else f"after {name}"
    readings = series_of(process, metric, point=at)
    totals = process.phases.get(name)
    visits = totals.visits if totals else process.n_passed(name) if role == "checkpoint" else 0
    added = _a_generation(process.charges.get((name, metric)), times.n_generations, 1.0)
    return PhaseRow(
        name, role, visits,
        times.of(name), added,
        _peak(process, readings, name), None if readings is None else climb(readings), _is_estimate(totals),
    )  # fmt: skip


def _is_estimate(totals: PhaseTotals | None) -> bool:
    return totals is not None and totals.timed < totals.visits


class _Times:
    """The time in each phase a generation; what a few visits stand for is never longer than what is around them.

    The first visit of a generation is often the longest, and the one that is recorded.
    """

    def __init__(self, process: ProcessRun, n_generations: int) -> None:
        self._process = process
        self.n_generations = n_generations
        self._found: dict[str, float | None] = {}

    def of(self, name: str) -> float | None:
        """Return the seconds in a phase; ``None`` where they were not measured."""
        if name not in self._found:
            busy = _a_generation(self._process.charges.get((name, BUSY)), self.n_generations, 1e-9)
            self._found[name] = busy  # for phases that are inside each other
            totals = self._process.phases.get(name)
            if busy is not None and totals is not None and _is_estimate(totals):
                self._found[name] = min(busy, self._around(totals))
        return self._found[name]

    def _around(self, totals: PhaseTotals) -> float:
        if OUTSIDE in totals.inside or not totals.inside:
            return math.inf
        outer = [self.of(name) for name in totals.inside]
        return sum(math.inf if seconds is None else seconds for seconds in outer)


def _a_generation(sums: Sums | None, n_generations: int, unit: float) -> float | None:
    if sums is None or not len(sums):
        return None
    return sum(value for generation, value in sums if generation >= 0 or n_generations == 1) * unit / n_generations


def _peak(process: ProcessRun, readings: Series | None, name: str) -> float | None:
    sampled = series_of(process, f"peak/{name}_bytes")
    found = [*(readings.values if readings else ()), *(sampled.values if sampled else ())]
    return max(found, default=None)


def climb(readings: Series) -> float | None:
    """Return by how much a reading climbs a generation: the median step, warm-up aside, of readings thirds apart.

    Thirds, because a reading of a process breathes by more than a generation adds; the median, because one step of an
    allocator's arena says nothing of the rest.
    """
    start = 3 if len(readings) >= 3 + LEAST_READINGS else 0
    generations, values = readings.generations[start:], readings.values[start:]
    if len(values) < LEAST_READINGS:
        return None
    apart = max(1, len(values) // 3)
    steps = [
        (values[at + apart] - values[at]) / (generations[at + apart] - generations[at])
        for at in range(len(values) - apart)
    ]
    ordered = sorted(steps)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
