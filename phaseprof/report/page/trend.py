"""The trend chart: every reading of a metric in the order of the loop, coloured by the phase that it lies in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import numpy as np

from phaseprof.recording.model import OUTSIDE, ProcessRun
from phaseprof.recording.series import Series
from phaseprof.report.access import GENERATION_END
from phaseprof.report.page.charts import Chart, change_words
from phaseprof.report.page.thinning import thin_generations
from phaseprof.report.words import clauses, drawn_words, is_bytes, metric_words, plural

# Readings drawn of all metrics of a process, 15 bytes each in the file; of the one that is shown first a third of them,
# which is one for each column of pixels.
MOST_READINGS = 3000
_LEAST = 24
MAX_VIEWS = 40
_FIRST = ("anonymous_bytes", "rss_bytes", "file_and_shm_bytes")
_DEVICE = ("allocated_bytes", "active_bytes", "reserved_bytes")
# These have a section of their own, or tell nothing as a line.
_ELSEWHERE = ("count/", "watched/", "tracked/", "gc/", "tensors/")
_UNTOLD = ("after_full_collection", "limit_bytes", "waited_s")


def trend_chart(process: ProcessRun, *, most: int = MOST_READINGS, first: str = "") -> Chart | None:
    """Return the trend of every metric.

    Args:
        process: the recording, folded.
        most: readings drawn of all metrics, about.
        first: the metric shown when the page opens, if it was read.
    """
    found = sorted(_metrics(process), key=lambda m: (m != first, _rank(m)))
    names = found[:MAX_VIEWS]
    others = max(_LEAST, 2 * most // (3 * max(1, len(names) - 1)))
    rooms = [most // 3, *[others] * len(names)]
    drawn = (_view(process, metric, room) for metric, room in zip(names, rooms, strict=False))
    views = [view for view in drawn if view is not None]
    if not views:
        return None
    end = _end_of(_points_of(process, names[0]))
    said = f"{metric_words(names[0])} {change_words(names[0], end.values)} over {plural(len(end), 'reading')}"
    return Chart("trend", "", clauses(said, drawn_words(len(views), len(found), "metric")), tuple(views))


def _metrics(process: ProcessRun) -> Iterator[str]:
    found: dict[str, int] = {}
    sampled = _sampled(process)
    for (point, metric), series in process.series.items():
        if point not in sampled and not metric.startswith(_ELSEWHERE) and metric not in _UNTOLD:
            found[metric] = max(found.get(metric, 0), sum(g >= 0 for g in series.generations[:2]))
    return (metric for metric, n in found.items() if n >= 2)


def _rank(metric: str) -> tuple[int, int, str]:
    device, _, counter = metric.rpartition("/")
    if metric in _FIRST:
        return (0, _FIRST.index(metric), metric)
    if device and counter in _DEVICE:
        return (1, _DEVICE.index(counter), metric)
    return (2 if is_bytes(metric) else 3, 0, metric_words(metric))


def _points_of(process: ProcessRun, metric: str) -> dict[str, Series]:
    """Series of a metric by point; samples between boundaries are left out, since they stand nowhere in the loop."""
    sampled = _sampled(process)
    return {
        point: series
        for (point, name), series in process.series.items()
        if name == metric and len(series) and point not in sampled
    }


def _sampled(process: ProcessRun) -> set[str]:
    return {label.name for label in process.labels.values() if label.role == "sample"}


def _end_of(points: Mapping[str, Series]) -> Series:
    """The point read last in a generation."""
    return points[_end_point(list(points))]


def _end_point(points: Sequence[str]) -> str:
    return GENERATION_END if GENERATION_END in points else points[-1]


def _view(process: ProcessRun, metric: str, most: int) -> Mapping[str, object] | None:
    points = _points_of(process, metric)
    rows = [
        (g, at, v)
        for at, series in enumerate(points.values())
        for g, v in series
        if g >= 0 and isfinite(v)
    ]  # fmt: skip
    if not rows:
        return None
    rows.sort()
    generations = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    values = np.fromiter((row[2] for row in rows), np.float64, len(rows))
    names = list(points)
    end = names.index(_end_point(names))
    is_end = np.fromiter((row[1] == end for row in rows), np.bool_, len(rows))
    kept = [row for row, stays in zip(rows, thin_generations(generations, values, is_end, most), strict=True) if stays]
    owners, phases = owners_of(process, names)
    device, _, _ = metric.rpartition("/")
    return {
        "name": metric_words(metric), "kind": "path", "unit": "bytes" if is_bytes(metric) else "count",
        "group": device if device and metric.endswith(_DEVICE) else "Process" if metric in _FIRST else "Other readings",
        "g": [r[0] for r in kept], "p": [r[1] for r in kept], "v": [r[2] for r in kept], "n": len(rows),
        "points": names, "end": end, "owners": owners, "phases": phases,
    }  # fmt: skip


def owners_of(process: ProcessRun, points: list[str]) -> tuple[list[int], list[str]]:
    """Tell for each point which phase was open on the way to it.

    Args:
        process: gives the names of phases.
        points: names of the points, in the order in which a generation passes them.

    Returns:
        For each point the phase's position in the second list, -1 for none; and the phases that own a way.
    """
    phases = list(dict.fromkeys(process.phase_names))
    starts, ends = {f"{p}: start": p for p in phases}, {f"after {p}": p for p in phases}
    stack: list[str] = []
    owner: list[str] = []
    for point in points:
        owner.append(ends.get(point) or (stack[-1] if stack else OUTSIDE))
        if point in starts:
            stack.append(starts[point])
        elif point in ends and ends[point] in stack:
            del stack[stack.index(ends[point]) :]
    used = [phase for phase in phases if phase in owner]
    return [used.index(name) if name in used else -1 for name in owner], used
