"""A series of CUDA memory snapshots: read safely, reduced to sums, judged."""

from __future__ import annotations

from phaseprof.analysis.snapshots.report import SnapshotAnalysis, analyse_folder

__all__ = ["SnapshotAnalysis", "analyse_folder"]
