"""An analysis as JSON-ready data: dicts, lists, strings and numbers only."""

from __future__ import annotations

from dataclasses import asdict

from phaseprof.analysis.snapshots.beside import ScalarMatch
from phaseprof.analysis.snapshots.findings import device_verdict
from phaseprof.analysis.snapshots.frames import site
from phaseprof.analysis.snapshots.lines import GrowthLine
from phaseprof.analysis.snapshots.model import EventSums, Stack
from phaseprof.analysis.snapshots.report import SnapshotAnalysis
from phaseprof.analysis.snapshots.series import ClassGrowth, DeviceSeries
from phaseprof.analysis.snapshots.sites import CommonCaller, SiteGrowth

FORMAT = 1
# Lists that can be as long as the program is large are cut here; the CSV files hold them whole.
_MOST_ITEMS = 200


def to_tree(analysis: SnapshotAnalysis) -> dict[str, object]:
    """Return the analysis as JSON-ready data; ``format`` grows when a key changes its meaning."""
    return {
        "format": FORMAT,
        "kind": "cuda snapshots",
        "folder": analysis.folder,
        "verdict": analysis.verdict,
        "exit_code": analysis.exit_code,
        "findings": [finding.to_dict() for finding in analysis.findings],
        "series": [_series(one) for one in analysis.series],
        "tensorboard": [_scalar(one) for one in analysis.scalars],
        "errors": list(analysis.errors),
        "notes": list(analysis.notes),
    }


def _series(series: DeviceSeries) -> dict[str, object]:
    return {
        "rank": series.rank,
        "device": series.device,
        "verdict": device_verdict(series),
        "steps": list(series.steps),
        "step_source": series.step_source,
        "history": series.history,
        "expandable_segments": series.expandable_segments,
        "is_above_floor": series.is_material,
        "rows": [asdict(row) for row in series.rows],
        "slopes": [_line(line) for line in series.lines],
        "size_classes": [_class(found) for found in series.classes[:_MOST_ITEMS]],
        "sites": [_site(found) for found in series.sites[:_MOST_ITEMS]],
        "site_steps": list(series.site_steps),
        "common_caller": _caller(series.caller),
        "blocks_without_stack": series.stackless and {"blocks": series.stackless[0], "bytes": series.stackless[1]},
        "new_pools": {**asdict(series.new_pools), "is_cause": series.is_grown_by_new_pools},
        "events": _events(series.events),
    }


def _line(line: GrowthLine) -> dict[str, object]:
    return {
        "metric": line.metric,
        "values": list(line.values),
        "slope_per_step": line.slope,
        "slope_per_1000_steps": line.slope * 1000,
        "slope_low": line.slope_low,
        "slope_high": line.slope_high,
        "growth": line.growth,
        "is_exact": line.is_exact,
        "votes": line.votes,
        "verdict": line.verdict,
        "confidence": line.confidence,
    }


def _class(found: ClassGrowth) -> dict[str, object]:
    return {
        "pool": found.kind,
        "size_bytes": found.size_bytes,
        "requested_bytes": found.requested_bytes,
        "blocks": list(found.blocks),
        "blocks_per_step": found.blocks_per_step,
        "bytes_per_step": found.bytes_per_step,
        "growth_bytes": found.growth,
    }


def _site(found: SiteGrowth) -> dict[str, object]:
    return {
        "site": site(found.frame),
        "function": found.frame.name,
        "filename": found.frame.filename,
        "line": found.frame.line,
        "callers": list(found.callers),
        "blocks": list(found.blocks),
        "active_bytes": list(found.active_bytes),
        "bytes_per_step": found.bytes_per_step,
        "blocks_per_step": found.blocks_per_step,
        "sizes": [{"requested_bytes": size, "blocks": n} for size, n in found.sizes.items()][:_MOST_ITEMS],
        "phases": dict(found.phases),
        "stacks": found.n_stacks,
        "example_stack": _stack(found.example),
    }


def _caller(caller: CommonCaller | None) -> dict[str, object] | None:
    if caller is None:
        return None
    return {
        "function": caller.name,
        "filename": caller.filename,
        "lines": [{"line": line, "growth_bytes": growth} for line, growth in caller.lines.items()],
        "share": caller.share,
    }


def _events(events: EventSums) -> dict[str, object]:
    return {
        "events": events.events,
        "allocations": events.allocations,
        "span_s": events.span_s,
        "allocations_without_free": [
            {
                "phase": found.phase,
                "blocks": found.blocks,
                "requested_bytes": found.requested_bytes,
                "stack": _stack(found.stack),
            }
            for found in events.survivors[:_MOST_ITEMS]
        ],
        "out_of_memory": [
            {
                "requested_bytes": oom.requested_bytes,
                "device_free_bytes": None if oom.device_free_bytes < 0 else oom.device_free_bytes,
                "phase": oom.phase,
                "stack": _stack(oom.stack),
            }
            for oom in events.ooms[:_MOST_ITEMS]
        ],
    }


def _stack(stack: Stack) -> list[str]:
    return [f"{frame.name} {frame.filename}:{frame.line}" for frame in stack[:_MOST_ITEMS]]


def _scalar(match: ScalarMatch) -> dict[str, object]:
    return {**asdict(match), "matched_steps": list(match.matched_steps), "scalar_bytes": list(match.scalar_bytes)}
