"""Which metrics of an imported log may vote: of each owner of memory the best that the log holds.

A recording of our own has exact counters, and its other figures are context.  A log of another tool may hold one
figure alone, under any name: of the process, a container, the machine, a device.
"""

from __future__ import annotations

from phaseprof.analysis.metric_roles import HELD, Meaning, meaning_of
from phaseprof.recording.model import ProcessRun

# Owners whose figures an ordinary vote covers already where a recording holds one of these.
COVERED = {"process": ("malloc_in_use_bytes", "anonymous_bytes", "rss_bytes")}
ON_DEVICE = "allocated_bytes"


def is_imported(process: ProcessRun) -> bool:
    """Whether a recording was made from another tool's log."""
    return process.header is not None and "imported_from" in process.header.settings


def witnesses(process: ProcessRun, at: str) -> dict[str, str]:
    """Return the metrics of a log that vote beyond those that vote in any recording, each with the owner it speaks of.

    Growth of the whole machine counts only where the log knows nothing closer: other programs run there, too.

    Args:
        process: the recording.
        at: the point at which metrics vote.
    """
    if not is_imported(process):
        return {}
    metrics = [metric for point, metric in process.series if point == at]
    owned: dict[str, dict[str, list[str]]] = {}
    for metric in metrics:
        meaning = _meaning(metric)
        if meaning.is_held and metric.endswith("_bytes"):
            owned.setdefault(meaning.owner, {}).setdefault(meaning.measure, []).append(metric)
    if len(owned) > 1:
        owned.pop("host", None)
    return {
        metric: owner
        for owner, by_measure in owned.items()
        if not _is_covered(owner, metrics)
        for metric in by_measure[min(by_measure, key=HELD.index)]
    }


def _meaning(metric: str) -> Meaning:
    """Look a metric of a run up; what the recording tracks or counts by name is no amount of the process."""
    if metric.startswith(("tracked/", "watched/", "count/", "container/", "storages/", "untracked/")):
        return Meaning("", "unknown")
    return meaning_of(metric)


def _is_covered(owner: str, metrics: list[str]) -> bool:
    return any(metric in metrics for metric in COVERED.get(owner, (f"{owner}/{ON_DEVICE}",)))


def left_of(process: ProcessRun, owner: str, at: str) -> float | None:
    """Return the bytes that an owner has left at the end, as the log says; ``None`` where it does not."""
    for (point, metric), series in process.series.items():
        meaning = _meaning(metric)
        if point == at and len(series) and (meaning.owner, meaning.measure) == (owner, "free"):
            return series.last if metric.endswith("_bytes") else None
    return None
