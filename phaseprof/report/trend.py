"""MEMORY TREND ACROSS GENERATIONS: resident memory at each labelled moment."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.report.moments import list_moments
from phaseprof.report.text import Column, Report, Style, columns, elide, section
from phaseprof.units import GIB, format_signed_bytes

_FEW = 1000  # generations that are never thinned


@dataclass(frozen=True)
class TrendRow:
    """Resident bytes at a moment, and the change since the moment before (``None`` for the first)."""

    label: str
    generation: int
    ram_bytes: float
    change_bytes: float | None


@dataclass(frozen=True)
class TrendReport(Report):
    """Memory at every labelled moment of a run, in order; the text leaves out the middle of a long run.

    Attributes:
        rows: one a moment.
        n_thinned: generations of a very long run of which no moment was kept.
    """

    rows: tuple[TrendRow, ...]
    n_thinned: int = 0

    def render(self, style: Style) -> str:
        """Lay the trend out as text."""
        return section("MEMORY TREND ACROSS GENERATIONS", "trend", self._body(style), style)

    def _body(self, style: Style) -> list[str]:
        if not self.rows:
            return ["No memory reading was recorded."]
        head, tail = elide(len(self.rows))
        shown = [*self.rows[:head], *self.rows[len(self.rows) - tail :]]
        # Below one GiB two decimals would hide a change of 5 MiB.
        decimals = 2 if max(row.ram_bytes for row in self.rows) >= GIB else 3
        cells = [
            (r.label, f"{r.ram_bytes / GIB:.{decimals}f}",
             "baseline" if r.change_bytes is None else format_signed_bytes(r.change_bytes))
            for r in shown
        ]  # fmt: skip
        lines = columns((Column("Label", 30), Column("RAM (GiB)"), Column("Change")), cells, style)
        if tail:
            left_out = len(self.rows) - head - tail
            lines.insert(2 + head, f"... ({left_out:,} rows are left out here; all are in the JSON and on the page)")
        if self.n_thinned:
            lines += [f"({self.n_thinned:,} generations of this long run were not kept)"]
        return lines


def build_trend(process: ProcessRun) -> TrendReport:
    """Report resident memory at the ends of phases in every generation, and at every snapshot."""
    rows: list[TrendRow] = []
    for moment in list_moments(process):
        ram = moment.ram_bytes
        if ram is not None:
            change = ram - rows[-1].ram_bytes if rows else None
            rows.append(TrendRow(moment.label, moment.generation, ram, change))
    kept = {row.generation for row in rows if row.generation >= 0}
    return TrendReport(tuple(rows), max(kept, default=-1) + 1 - len(kept) if len(kept) > _FEW else 0)
