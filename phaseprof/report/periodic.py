"""What ``report_every`` prints: the sizes of the tracked names, and the profile of the rollout that just ended."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.report.rollout import RolloutProfile, build_rollout_profile
from phaseprof.report.text import Report, Style
from phaseprof.report.tracked import TrackedReport, build_tracked


@dataclass(frozen=True)
class PeriodicReport(Report):
    """The memory report of one generation; ``rollout`` is ``None`` where no generation said how many items it did."""

    tracked: TrackedReport
    rollout: RolloutProfile | None

    def render(self, style: Style) -> str:
        """Lay the report out as text."""
        parts = [self.tracked] if self.tracked.sizes or self.rollout is None else []
        return "\n".join(part.render(style) for part in (*parts, self.rollout) if part is not None)


def build_periodic(process: ProcessRun, threshold_mb: float) -> PeriodicReport:
    """Report the newest generation: tracked names, and a rollout profile where its items are known."""
    tracked = build_tracked(process, threshold_mb)
    ended = next((g for g in reversed(process.generations) if g.seconds is not None), None)
    has_items = ended is not None and ended.items is not None
    return PeriodicReport(tracked, build_rollout_profile(process, ended.ordinal) if ended and has_items else None)
