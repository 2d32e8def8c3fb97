"""FINAL MEMORY ANALYSIS: everything known of one process, findings first, the cost of profiling last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.report.cost import CostReport, build_cost
from phaseprof.report.counts import CountsReport, build_counts
from phaseprof.report.devices import DevicesReport, build_devices
from phaseprof.report.explained import ExplainedReport, build_explained
from phaseprof.report.findings import FindingsReport, build_findings
from phaseprof.report.growth import GrowthReport, build_growth
from phaseprof.report.large import LargeObjectsReport, build_large_objects
from phaseprof.report.phases import PhasesReport, build_phases
from phaseprof.report.rollout import RolloutReport, build_rollout
from phaseprof.report.sums import SumsReport, build_sums
from phaseprof.report.text import Report, Style, heading
from phaseprof.report.tracked import TrackedReport, build_tracked
from phaseprof.report.trend import TrendReport, build_trend

LARGE_MB = 50.0  # threshold of the large objects in a summary


@dataclass(frozen=True)
class SummaryReport(Report):
    """All reports of one process; parts without data are in the data and left out of the text."""

    findings: FindingsReport
    phases: PhasesReport
    trend: TrendReport
    growth: GrowthReport
    large_objects: LargeObjectsReport
    counts: CountsReport
    tracked: TrackedReport
    rollout: RolloutReport
    sums: SumsReport
    explained: ExplainedReport
    devices: DevicesReport
    cost: CostReport

    @property
    def parts(self) -> tuple[Report, ...]:
        """The reports that have something to show, in the order of the text."""
        shown: tuple[tuple[Report, object], ...] = (
            (self.findings, True),
            (self.phases, self.phases.rows),
            (self.trend, self.trend.rows),
            (self.growth, self.trend.rows),
            (self.large_objects, self.large_objects.objects),
            (self.counts, self.counts.rows),
            (self.tracked, self.tracked.sizes),
            (self.rollout, self.rollout.has_items),
            (self.sums, self.sums.entries),
            (self.explained, self.explained.first is not None),
            (self.devices, self.devices.devices),
            (self.cost, self.cost.wall_s is not None),
        )
        return tuple(report for report, has_data in shown if has_data)

    def render(self, style: Style) -> str:
        """Lay the summary out as text: all of it, or what fits on one screen."""
        title = "\n".join(heading("FINAL MEMORY ANALYSIS", "snapshot", style))
        if not style.full:
            return _joined([title, *self._brief(style)])
        return "\n\n".join([title, *(part.render(style) for part in self.parts)])

    def _brief(self, style: Style) -> Iterator[str]:
        yield self.findings.render(style)
        if self.counts.n_broken or any(row.missing for row in self.counts.rows):
            yield self.counts.render(style)
        if self.phases.rows:
            yield self.phases.render(style)
        elif self.trend.rows:  # a program that marks nothing: its curve is all there is
            yield self.trend.render(style)
        if self.cost.wall_s is not None:
            yield from self.cost.brief(style)


def _joined(parts: Sequence[str]) -> str:
    """Join parts so that the rule that closes one opens the next."""
    lines = "\n".join(parts).splitlines()
    return "\n".join(line for at, line in enumerate(lines) if not at or line != lines[at - 1] or set(line) != {"="})


def build_summary(process: ProcessRun, findings: Sequence[Finding]) -> SummaryReport:
    """Build every report of one process.  Cost: about a second for a million readings."""
    return SummaryReport(
        findings=build_findings(findings, process=process),
        phases=build_phases(process),
        trend=build_trend(process),
        growth=build_growth(process),
        large_objects=build_large_objects(process, LARGE_MB),
        counts=build_counts(process),
        tracked=build_tracked(process),
        rollout=build_rollout(process, leaks=any(f.verdict == "leak" for f in findings)),
        sums=build_sums(process, findings),
        explained=build_explained(process),
        devices=build_devices(process),
        cost=build_cost(process),
    )
