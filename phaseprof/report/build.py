"""Every report under one name: each takes a process's recording and gives frozen data that prints itself."""

from __future__ import annotations

from phaseprof.report.cost import CostReport, build_cost
from phaseprof.report.counts import CountsReport, WatchedCount, build_counts
from phaseprof.report.devices import DevicesReport, DeviceSum, build_devices
from phaseprof.report.explained import ExplainedReport, Term, build_explained
from phaseprof.report.findings import FindingEntry, FindingsReport, build_findings
from phaseprof.report.growth import CountChange, GrowthReport, MemoryGrowth, build_growth
from phaseprof.report.large import LargeObjectsReport, build_large_objects
from phaseprof.report.ranks import RankRow
from phaseprof.report.rollout import (
    RolloutProfile,
    RolloutReport,
    RolloutRow,
    build_rollout,
    build_rollout_profile,
)
from phaseprof.report.run import ProcessHeader, ProcessSection, RunReport, build_report
from phaseprof.report.snapshot import CountLine, SnapshotReport, build_snapshot
from phaseprof.report.summary import SummaryReport, build_summary
from phaseprof.report.sums import SumEntry, SumsReport, build_sums
from phaseprof.report.text import Report, Style, style_for
from phaseprof.report.tracked import TrackedReport, TrackedSize, build_tracked
from phaseprof.report.trend import TrendReport, TrendRow, build_trend
from phaseprof.report.whattoreport import LeakLines, WhatToReport, build_what_to_report

__all__ = [
    "CostReport", "CountChange", "CountLine", "CountsReport", "DeviceSum", "DevicesReport", "ExplainedReport",
    "FindingEntry", "FindingsReport", "GrowthReport", "LargeObjectsReport", "LeakLines", "MemoryGrowth",
    "ProcessHeader", "ProcessSection", "RankRow", "Report", "RolloutProfile", "RolloutReport", "RolloutRow",
    "RunReport", "SnapshotReport", "Style", "SumEntry", "SummaryReport", "SumsReport", "Term", "TrackedReport",
    "TrackedSize", "TrendReport", "TrendRow", "WatchedCount", "WhatToReport", "build_cost", "build_counts",
    "build_devices", "build_explained", "build_findings", "build_growth", "build_large_objects", "build_report",
    "build_rollout", "build_rollout_profile", "build_snapshot", "build_summary", "build_sums", "build_tracked",
    "build_trend", "build_what_to_report", "style_for",
]  # fmt: skip
