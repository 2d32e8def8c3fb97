"""COST OF PROFILING: seconds by job, their share of wall time, and what the budget had no room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phaseprof.recording.model import ProcessRun
from phaseprof.report.text import Column, Report, Style, columns, entry, section, times_text, wrap
from phaseprof.units import format_duration

MAX_JOBS = 8  # listed one by one, the dearest
ASKED = " (asked for)"  # ends the name of a job that the user asked for
_WIDTH = 27


@dataclass(frozen=True)
class CostReport(Report):
    """What profiling took.

    Attributes:
        wall_s: wall time that was watched, ``None`` where no cost was recorded.
        spent_s: seconds by job.
        skipped: how often each job was put off for lack of budget.
        left: jobs that were left to the end, since they would have kept the program waiting for too long, and the
            seconds that each was expected to take.
        pause_s: the longest time for which a job kept the program waiting; ``None`` where it was not measured.
        pause_by: that job.
        in_python: why passes over the heap ran in Python; empty where they ran in C.
        budget: share of wall time allowed, as it was set; empty if the recording does not say.
    """

    derived = ("total_s", "share")

    wall_s: float | None
    spent_s: Mapping[str, float]
    skipped: Mapping[str, int]
    budget: str = ""
    left: Mapping[str, float] = field(default_factory=dict)
    pause_s: float | None = None
    pause_by: str = ""
    in_python: str = ""

    @property
    def total_s(self) -> float:
        """Seconds spent on all jobs."""
        return sum(self.spent_s.values())

    @property
    def share(self) -> float | None:
        """Seconds spent as a share of wall time."""
        return self.total_s / self.wall_s if self.wall_s else None

    def render(self, style: Style) -> str:
        """Lay the costs out as text."""
        return section("COST OF PROFILING", "cost", self._body(style), style)

    def brief(self, style: Style) -> list[str]:
        """Say in one line what profiling took, what was asked for by name apart."""
        if not self.wall_s:
            return []
        asked = sum(seconds for job, seconds in self.spent_s.items() if job.endswith(ASKED))
        budget = f" (the budget is {_percent(self.budget)})" if _percent(self.budget) else ""
        own = f"{100 * (self.total_s - asked) / self.wall_s:.1f} % of {format_duration(self.wall_s)}{budget}"
        extra = f", and {format_duration(asked)} for snapshots and this report" if asked >= 0.05 else ""
        return wrap(f"Profiling took {own}{extra}.", style.width, style)

    def _body(self, style: Style) -> list[str]:
        if self.wall_s is None:
            return ["The cost of profiling was not recorded."]
        jobs = sorted(self.spent_s.items(), key=lambda job: -job[1])
        rest = jobs[MAX_JOBS:]
        jobs = jobs[:MAX_JOBS] + ([(f"({len(rest)} more)", sum(s for _, s in rest))] if rest else [])
        rows = [(name, f"{seconds:.3f}", self._share_of(seconds)) for name, seconds in jobs]
        rows.append(("total", f"{self.total_s:.3f}", self._share_of(self.total_s)))
        lines = columns((Column("Job", 30), Column("Seconds"), Column("Of wall time")), rows, style)
        budget = f", budget {self.budget}" if self.budget else ""
        lines.append(f"Wall time watched: {format_duration(self.wall_s)}{budget}")
        if self.pause_s:
            lines.append(f"Longest pause: {format_duration(self.pause_s)}, by {self.pause_by}")
        if self.in_python:
            said = f"Passes over the heap run in Python, which takes longer: {self.in_python}."
            lines += wrap(said, style.width, style)
        if self.left:
            jobs_left = ", ".join(f"{name} ({format_duration(seconds)})" for name, seconds in sorted(self.left.items()))
            lines += entry("Too long for the loop", jobs_left, style, indent=0, name_width=_WIDTH)
        put_off = ", ".join(f"{name} {times_text(n)}" for name, n in sorted(self.skipped.items()) if n)
        return lines + entry("Put off for lack of budget", put_off or "nothing", style, indent=0, name_width=_WIDTH)

    def _share_of(self, seconds: float) -> str:
        return f"{seconds / self.wall_s:.2%}" if self.wall_s else "-"


def _percent(share: str) -> str:
    try:
        return f"{float(share) * 100:g} %"
    except ValueError:  # none, or not recorded
        return ""


def build_cost(process: ProcessRun) -> CostReport:
    """Report what profiling took so far."""
    budget = process.header.settings.get("budget", "") if process.header else ""
    cost = process.cost
    if cost is None:
        return CostReport(None, {}, {}, budget)
    return CostReport(
        cost.wall_s, dict(cost.spent_s), dict(cost.skipped), budget, dict(cost.left), cost.pause_s, cost.pause_by,
        cost.in_python,
    )  # fmt: skip
