"""MEMORY TREND ACROSS GENERATIONS: resident memory at each labelled moment."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.report.moments import list_moments
from phaseprof.report.text import Column, Report, Style, columns, elide, section
from phaseprof.units import GIB, format_signed_bytes


@dataclass(frozen=True)
class TrendRow:
    """Resident bytes at a moment, and the change since the moment before (``None`` for the first)."""

    label: str
    generation: int
    ram_bytes: float
    change_bytes: float | None


@dataclass(frozen=True)
class TrendReport(Report):
    """Memory at every labelled moment of a run, in order; the text leaves out the middle of a long run."""

    rows: tuple[TrendRow, ...]

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
            lines.insert(2 + head, f"... ({len(self.rows) - head - tail:,} more)")
        return lines


def build_trend(process: ProcessRun) -> TrendReport:
    """Report resident memory at every snapshot, or at the ends of phases where fewer than two were taken."""
    rows: list[TrendRow] = []
    for moment in list_moments(process):
        ram = moment.ram_bytes
        if ram is not None:
            change = ram - rows[-1].ram_bytes if rows else None
            rows.append(TrendRow(moment.label, moment.generation, ram, change))
    return TrendReport(tuple(rows))
