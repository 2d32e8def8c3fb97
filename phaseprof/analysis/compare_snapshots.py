"""Series of CUDA snapshots side by side: the same words as for runs, on counters that have no noise of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import stdev

from phaseprof.analysis.compare import Change, Comparison, Row, Slope, change_of, choose_headline, negligible_of
from phaseprof.analysis.snapshots.files import SnapshotFolder
from phaseprof.analysis.snapshots.lines import GrowthLine, growth_line
from phaseprof.analysis.snapshots.model import SizeClass, SnapshotSums
from phaseprof.analysis.snapshots.series import DeviceSeries, build_series
from phaseprof.errors import UsageError

POINT = "snapshot"
MAX_CLASSES = 40
# What recordings call the counters of an allocator.
_NAMES = {"small_pool_bytes": "small_pool_active_bytes", "large_pool_bytes": "large_pool_active_bytes"}
# Student's t, two-sided 95 %, for a mean of so many slopes between snapshots; of more, the least and the largest bound
# the median with at least that certainty.
_T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}


def compare_snapshots(
    folders: Sequence[SnapshotFolder], names: Sequence[str], *, rank: int | None = None
) -> Comparison:
    """Compare series of snapshots over the steps that all of them span.

    Args:
        folders: two or more; the first is what the others are held against.
        names: one a folder.
        rank: the process whose snapshots are compared; ``None``: the lowest.

    Raises:
        UsageError: fewer than two folders, one without a readable snapshot or the rank, or only some name their steps.

    Method: slopes and verdicts are those of the snapshots' own report; the interval is Student's t on the slopes from
    one snapshot to the next where they are few, and empty where all are equal.  Differences as in ``compare``, for
    each counter of each device that all have, and for the block sizes that grow in any.  Smallest n: 3 snapshots.
    """
    if len(folders) < 2:
        raise UsageError(f"a comparison needs two folders of snapshots or more (got {len(folders)}); name another")
    groups = [_of_rank(folder, name, rank) for folder, name in zip(folders, names, strict=True)]
    unit = _unit(groups, names)
    first = max(group[0].step for group in groups)
    last = min(group[-1].step for group in groups)
    rows = tuple(
        row
        for label, devices in _devices(groups)
        for row in _device_rows(f"{label}/", [_series(g, d, first, last) for g, d in zip(groups, devices, strict=True)])
    )
    return Comparison(
        names=tuple(names), unit=unit, first=first, last=last, headline=choose_headline(rows), rows=rows, phases=(),
        also_differ=_differences(groups), notes=(*_notes(folders, groups, names), *_apart(groups, names, first, last)),
    )  # fmt: skip


def _of_rank(folder: SnapshotFolder, name: str, rank: int | None) -> list[SnapshotSums]:
    if not folder.snapshots:
        raise UsageError(f"a folder of snapshots must hold one that can be read (got {name}); dump them again")
    wanted = folder.snapshots[0].rank if rank is None else rank
    group = [one for one in folder.snapshots if one.rank == wanted or (one.rank is None and wanted == 0)]
    if not group:
        there = sorted({one.rank or 0 for one in folder.snapshots})
        raise UsageError(f"--rank must be a rank of every folder (got {rank}, {name} has {there}); choose one of these")
    return group


def _unit(groups: Sequence[Sequence[SnapshotSums]], names: Sequence[str]) -> str:
    sources = [group[0].step_source for group in groups]
    if len(set(sources)) > 1:
        nameless = names[sources.index("order")]
        raise UsageError(
            f"either all snapshots or none must be named by their steps (got {nameless}, whose names give none, beside "
            "others that do); name its files snapshot_step_N.pickle"
        )
    return "step" if sources[0] == "name" else "snapshot"


def _devices(groups: Sequence[Sequence[SnapshotSums]]) -> Iterator[tuple[str, list[int]]]:
    """Yield what to call a device, and its index in each folder; single ones are compared whatever their index."""
    there = [sorted({device for one in group for device in one.devices}) for group in groups]
    if all(len(devices) == 1 for devices in there):
        yield f"cuda{there[0][0]}", [devices[0] for devices in there]
        return
    for device in there[0]:
        if all(device in devices for devices in there):
            yield f"cuda{device}", [device] * len(groups)


Pair = tuple[DeviceSeries, DeviceSeries]  # the common part, and all of it


def _series(group: Sequence[SnapshotSums], device: int, first: int, last: int) -> Pair | None:
    inside = [one for one in group if first <= one.step <= last and device in one.devices]
    if not inside:
        return None
    return build_series(inside, device), build_series(group, device)


def _device_rows(prefix: str, found: Sequence[Pair | None]) -> Iterator[Row]:
    pairs = [pair for pair in found if pair is not None]
    if len(pairs) < len(found):
        return
    for line in pairs[0][0].lines:
        slopes = [_counter_slope(part, whole, line.metric) for part, whole in pairs]
        if None not in slopes:
            yield _row(f"{prefix}{_NAMES.get(line.metric, line.metric)}", [slope for slope in slopes if slope])
    for key in _growing(part for part, _ in pairs):
        slopes = [_class_slope(part, whole, key) for part, whole in pairs]
        yield _row(f"{prefix}{key.kind}_pool_blocks_of_{key.size_bytes}_bytes", [slope for slope in slopes if slope])


def _row(metric: str, slopes: Sequence[Slope]) -> Row:
    changes = tuple(_change(slopes[0], slope, metric) for slope in slopes[1:])
    return Row(POINT, metric, tuple(slopes), changes)


def _change(before: Slope, after: Slope, metric: str) -> Change:
    change = change_of(before, after, negligible=negligible_of(metric))
    return replace(change, p=1.0) if change.word == "too short" else change


def _counter_slope(part: DeviceSeries, whole: DeviceSeries, metric: str) -> Slope | None:
    line, all_of_it = part.line(metric), whole.line(metric)
    return None if line is None or all_of_it is None else _slope(line, part.steps, all_of_it)


def _slope(line: GrowthLine, steps: Sequence[int], whole: GrowthLine) -> Slope:
    low, high = _interval(line, steps)
    return Slope(line.verdict, len(line.values), line.slope, low, high, float(line.growth), whole.verdict)


def _interval(line: GrowthLine, steps: Sequence[int]) -> tuple[float, float]:
    """Bound a slope at 95 %."""
    points = list(zip(line.values, steps, strict=True))[line.judged_from :]
    slopes = [(after - before) / (step - earlier) for (before, earlier), (after, step) in pairwise(points)]
    if len(slopes) not in _T_95 or line.is_exact:
        return line.slope_low, line.slope_high
    half = _T_95[len(slopes)] * stdev(slopes) / math.sqrt(len(slopes))
    return line.slope - half, line.slope + half


def _growing(parts: Iterator[DeviceSeries]) -> list[SizeClass]:
    """Return the block sizes that grow in any series, fastest first, requests of one rounded size together."""
    fastest: dict[SizeClass, float] = {}
    for part in parts:
        for found in part.growing_classes:
            key = SizeClass(found.kind, found.size_bytes, 0)
            fastest[key] = max(fastest.get(key, 0.0), found.bytes_per_step)
    return sorted(fastest, key=lambda key: -fastest[key])[:MAX_CLASSES]


def _class_slope(part: DeviceSeries, whole: DeviceSeries, key: SizeClass) -> Slope:
    return _slope(_class_line(part, key), part.steps, _class_line(whole, key))


def _class_line(series: DeviceSeries, key: SizeClass) -> GrowthLine:
    same = [one.blocks for one in series.classes if (one.kind, one.size_bytes) == (key.kind, key.size_bytes)]
    held = [key.size_bytes * sum(blocks) for blocks in zip(*same, strict=True)] or [0] * len(series.steps)
    return growth_line("class_bytes", held, series.steps, floor=math.inf, votes=False)


def _differences(groups: Sequence[Sequence[SnapshotSums]]) -> tuple[str, ...]:
    settings = [group[-1].settings or "default" for group in groups]
    return (f"allocator settings: {' / '.join(settings)}",) if len(set(settings)) > 1 else ()


def _notes(
    folders: Sequence[SnapshotFolder], groups: Sequence[Sequence[SnapshotSums]], names: Sequence[str]
) -> Iterator[str]:
    for folder, group, name in zip(folders, groups, names, strict=True):
        yield from (f"{name}: {note}" for note in folder.notes)
        n_ranks = len({one.rank for one in folder.snapshots})
        if n_ranks > 1:
            yield f"{name}: rank {group[0].rank or 0} of {n_ranks} processes is compared"


def _apart(groups: Sequence[Sequence[SnapshotSums]], names: Sequence[str], first: int, last: int) -> Iterator[str]:
    if first > last:
        yield "the series have no step in common"
        return
    for group, name in zip(groups, names, strict=True):
        if not any(first <= one.step <= last for one in group):
            yield f"{name} has no snapshot from step {first} to {last}, which is all that the series have in common"
