"""One device over a series of snapshots: rows, growth lines, size classes, pools and lines of code that grow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from phaseprof.analysis.snapshots.lines import GrowthLine, floor_bytes, growth_line
from phaseprof.analysis.snapshots.model import (
    DeviceSums,
    EventSums,
    PoolKey,
    SizeClass,
    SnapshotSums,
    Stack,
    StackTotals,
)
from phaseprof.analysis.snapshots.sites import (
    CommonCaller,
    SiteGrowth,
    common_caller,
    per_step,
    site_growth,
    stackless_blocks,
)

_DEFAULT_POOL = (0, 0)

# A buffer that stores a few tensors a step adds blocks of at most that many sizes; a kept graph one for every layer.
_FEW_CLASSES = 4
# With fewer snapshots than this, even growth in few sizes is left undecided.
_FEW_SNAPSHOTS = 6
# New streams and private pools are the cause of growth if they bear this share of it.
_CAUSE_SHARE = 0.9


@dataclass(frozen=True)
class Row:
    """One line of the growth table; bytes and counts of one device in one snapshot.

    ``small_pool_bytes`` and ``large_pool_bytes`` are active bytes, ``None`` where the file does not say the pool.
    """

    snapshot: str
    step: int
    active_bytes: int
    small_pool_bytes: int | None
    large_pool_bytes: int | None
    active_blocks: int
    small_pool_blocks: int | None
    large_pool_blocks: int | None
    requested_bytes: int
    pending_bytes: int
    reserved_bytes: int
    inactive_split_bytes: int
    largest_free_bytes: int
    segments: int
    streams: int
    private_pools: int


@dataclass(frozen=True)
class ClassGrowth:
    """Live blocks of one size in one pool over the series; ``size_bytes`` is rounded, ``requested_bytes`` as asked."""

    kind: str
    size_bytes: int
    requested_bytes: int
    blocks: tuple[int, ...]
    blocks_per_step: float

    @property
    def bytes_per_step(self) -> float:
        """Growth of the class in rounded bytes per step."""
        return self.blocks_per_step * self.size_bytes

    @property
    def growth(self) -> int:
        """Rounded bytes in the last snapshot less those in the first."""
        return (self.blocks[-1] - self.blocks[0]) * self.size_bytes


@dataclass(frozen=True)
class NewPools:
    """Streams and private pools (CUDA graphs, ``MemPool``) that the first snapshot did not have.

    Attributes:
        streams: their number; ``stream_bytes`` what is active on them in the last snapshot, private pools left out.
        private_pools: their number; ``private_bytes`` what is active in them in the last snapshot.
        reserved_bytes: size of all their segments.
        come_with_steps: each snapshot has more of them than the one before.
    """

    streams: int = 0
    stream_bytes: int = 0
    private_pools: int = 0
    private_bytes: int = 0
    reserved_bytes: int = 0
    come_with_steps: bool = False

    @property
    def active_bytes(self) -> int:
        """Active bytes in all of them."""
        return self.stream_bytes + self.private_bytes


@dataclass(frozen=True)
class DeviceSeries:
    """Everything that is said of one device of one process.

    Attributes:
        rank: the rank in the file names, if any.
        device: the device's index.
        steps: (n,) steps; ``step_source`` tells if they come from the names or the order.
        rows: (n,) the growth table.
        lines: one judged counter each.
        classes: size classes, largest growth first; all of them.
        sites: lines of code by growth, from the snapshots with stacks; ``site_steps`` are their steps.
        caller: the function that bears the growth, if one does.
        stackless: live blocks and bytes of the last snapshot without a stack; ``None`` where no history was recorded.
        new_pools: streams and private pools that came during the series.
        expandable_segments: expandable ones in the last snapshot.
        stacks: live blocks by stack in the last snapshot that has stacks.
        events: the recorded events of the last snapshot.
        history: what the snapshots recorded: "none", "state" or "events".
    """

    rank: int | None
    device: int
    steps: tuple[int, ...]
    step_source: str
    rows: tuple[Row, ...]
    lines: tuple[GrowthLine, ...]
    classes: tuple[ClassGrowth, ...]
    sites: tuple[SiteGrowth, ...]
    site_steps: tuple[int, ...]
    caller: CommonCaller | None
    stackless: tuple[int, int] | None
    new_pools: NewPools
    expandable_segments: int
    stacks: Mapping[Stack, StackTotals]
    events: EventSums
    history: str

    def line(self, metric: str) -> GrowthLine | None:
        """Return the judged counter of that name."""
        return next((line for line in self.lines if line.metric == metric), None)

    @property
    def growing_classes(self) -> tuple[ClassGrowth, ...]:
        """Size classes with more blocks at the end than at the start, and more in the usual interval."""
        return tuple(found for found in self.classes if found.growth > 0 and found.blocks_per_step > 0)

    @property
    def is_material(self) -> bool:
        """Whether active memory grew by more than the floor, a warm-up left out."""
        return self.lines[0].is_material

    @property
    def has_few_classes(self) -> bool:
        """Whether so few sizes grow that a buffer which fills would look the same."""
        return len(self.growing_classes) < _FEW_CLASSES and not self.is_grown_by_new_pools

    @property
    def is_doubtful(self) -> bool:
        """Whether material growth rests on few snapshots and few sizes."""
        return self.is_material and len(self.rows) < _FEW_SNAPSHOTS and self.has_few_classes

    @property
    def is_grown_by_new_pools(self) -> bool:
        """Whether streams and private pools that came during the series bear the growth."""
        growth = self.rows[-1].active_bytes - self.rows[0].active_bytes
        return growth > 0 and self.new_pools.active_bytes >= _CAUSE_SHARE * growth

    @property
    def growing_sites(self) -> tuple[SiteGrowth, ...]:
        """Lines of code whose live blocks grew."""
        return tuple(found for found in self.sites if found.growth > 0)


def build_series(snapshots: Sequence[SnapshotSums], device: int) -> DeviceSeries:
    """Put together what one device's snapshots say.

    Args:
        snapshots: (n,) of one process in order of steps; those without the device are left out.
        device: the device's index.
    """
    having = [snapshot for snapshot in snapshots if device in snapshot.devices]
    sums = [snapshot.devices[device] for snapshot in having]
    steps = tuple(snapshot.step for snapshot in having)
    rows = tuple(_row(snapshot, snapshot.devices[device]) for snapshot in having)
    with_stacks = [place for place, found in enumerate(sums) if found.stacks]
    traced = [sums[place] for place in with_stacks]
    site_steps = tuple(steps[place] for place in with_stacks)
    series = DeviceSeries(
        rank=having[0].rank,
        device=device,
        steps=steps,
        step_source=having[0].step_source,
        rows=rows,
        lines=_lines(rows, steps),
        classes=_classes(sums, steps),
        sites=site_growth(traced, site_steps) if traced else (),
        site_steps=site_steps,
        caller=common_caller(traced) if len(traced) > 1 else None,
        stackless=stackless_blocks(traced[-1]) if traced else None,
        new_pools=_new_pools(sums, rows),
        expandable_segments=sums[-1].total("expandable_segments"),
        stacks=traced[-1].stacks if traced else {},
        events=sums[-1].events,
        history=having[-1].history,
    )
    if not series.is_doubtful:
        return series
    undecided = [
        replace(line, verdict="too short", confidence=0.0) if line.verdict == "leak" else line for line in series.lines
    ]
    return replace(series, lines=tuple(undecided))


def _row(snapshot: SnapshotSums, sums: DeviceSums) -> Row:
    def of_kind(name: str, kind: str) -> int | None:
        return None if sums.has_unknown_pools else sums.total(name, kind)

    return Row(
        snapshot=snapshot.name,
        step=snapshot.step,
        active_bytes=sums.total("active_bytes"),
        small_pool_bytes=of_kind("active_bytes", "small"),
        large_pool_bytes=of_kind("active_bytes", "large"),
        active_blocks=sums.total("active_blocks"),
        small_pool_blocks=of_kind("active_blocks", "small"),
        large_pool_blocks=of_kind("active_blocks", "large"),
        requested_bytes=sums.total("requested_bytes"),
        pending_bytes=sums.total("pending_bytes"),
        reserved_bytes=sums.total("reserved_bytes"),
        inactive_split_bytes=sums.total("inactive_split_bytes"),
        largest_free_bytes=max((pool.largest_free_bytes for pool in sums.pools.values()), default=0),
        segments=sums.total("segments"),
        streams=len({key.stream for key in sums.pools}),
        private_pools=len({key.pool_id for key in sums.pools} - {_DEFAULT_POOL}),
    )


def _lines(rows: Sequence[Row], steps: Sequence[int]) -> tuple[GrowthLine, ...]:
    floor = floor_bytes(rows[0].active_bytes)
    active = growth_line("active_bytes", [row.active_bytes for row in rows], steps, floor=floor, votes=True)
    lines = [active]
    for metric in ("small_pool_bytes", "large_pool_bytes"):
        if None not in (values := [getattr(row, metric) for row in rows]):
            lines.append(growth_line(metric, values, steps, floor=floor, votes=True))
    # Blocks matter by what they hold.
    blocks = [row.active_blocks for row in rows]
    lines.append(growth_line("active_blocks", blocks, steps, floor=0 if active.is_material else math.inf, votes=True))
    # What the allocator keeps in reserve moves in whole segments: shown, and never a witness.
    for metric in ("reserved_bytes", "inactive_split_bytes", "segments"):
        values = [getattr(row, metric) for row in rows]
        lines.append(growth_line(metric, values, steps, floor=math.inf, votes=False))
    return tuple(lines)


def _classes(sums: Sequence[DeviceSums], steps: Sequence[int]) -> tuple[ClassGrowth, ...]:
    names: set[SizeClass] = set().union(*(found.classes for found in sums))
    grown = []
    for name in names:
        blocks = tuple(found.classes.get(name, 0) for found in sums)
        grown.append(ClassGrowth(*name, blocks, per_step(blocks, steps)))
    return tuple(
        sorted(grown, key=lambda found: (-found.growth, -found.blocks[-1] * found.size_bytes, found.size_bytes))
    )


def _new_pools(sums: Sequence[DeviceSums], rows: Sequence[Row]) -> NewPools:
    first, last = sums[0].pools, sums[-1].pools
    old_streams = {key.stream for key in first}
    old_pools = {key.pool_id for key in first} | {_DEFAULT_POOL}
    private = Counter({key: found.active_bytes for key, found in last.items() if key.pool_id not in old_pools})
    on_stream = Counter(
        {
            key: found.active_bytes
            for key, found in last.items()
            if key.stream not in old_streams and key.pool_id == _DEFAULT_POOL
        }
    )
    fresh: list[PoolKey] = [*private, *on_stream]
    numbers = [row.streams + row.private_pools for row in rows]
    return NewPools(
        streams=len({key.stream for key in on_stream}),
        stream_bytes=on_stream.total(),
        private_pools=len({key.pool_id for key in private}),
        private_bytes=private.total(),
        reserved_bytes=sum(last[key].reserved_bytes for key in fresh),
        come_with_steps=len(rows) > 2 and all(b > a for a, b in pairwise(numbers)),
    )
