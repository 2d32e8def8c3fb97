"""Frozen sums of one CUDA memory snapshot: what is kept once the loaded file has been dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

History = Literal["none", "state", "events"]


class Frame(NamedTuple):
    """One stack frame: function name, file and line number (0 if unknown)."""

    name: str
    filename: str
    line: int


Stack = tuple[Frame, ...]
"""Frames of one allocation, innermost first; empty where none was recorded."""


class PoolKey(NamedTuple):
    """Where memory lies: ``kind`` small, large or unknown; ``pool_id`` (0, 0) is the default pool."""

    kind: str
    pool_id: tuple[int, int]
    stream: int


class SizeClass(NamedTuple):
    """One kind of live block: its pool, its rounded size and the bytes that were asked for."""

    kind: str
    size_bytes: int
    requested_bytes: int


@dataclass(frozen=True)
class PoolSums:
    """Sums over the segments of one pool.

    Attributes:
        active_bytes: rounded bytes of occupied blocks, those waiting for a free included.
        active_blocks: number of those blocks.
        requested_bytes: what the program asked for in those blocks.
        pending_bytes: the part of ``active_bytes`` that is freed but still waits for a stream.
        reserved_bytes: size of the segments.
        inactive_split_bytes: free bytes in segments that also hold something else.
        largest_free_bytes: the largest free block.
        segments: number of segments.
        expandable_segments: how many of them can grow in place.
    """

    active_bytes: int = 0
    active_blocks: int = 0
    requested_bytes: int = 0
    pending_bytes: int = 0
    reserved_bytes: int = 0
    inactive_split_bytes: int = 0
    largest_free_bytes: int = 0
    segments: int = 0
    expandable_segments: int = 0


@dataclass(frozen=True)
class StackTotals:
    """Live blocks that one stack allocated.

    Attributes:
        blocks: their number.
        active_bytes: their rounded bytes.
        sizes: requested size to number of blocks.
        phases: phase annotation to number of blocks, for those blocks whose allocation is among the recorded events.
    """

    blocks: int
    active_bytes: int
    sizes: Mapping[int, int]
    phases: Mapping[str, int]


@dataclass(frozen=True)
class Survivor:
    """Recorded allocations of one stack in one phase that no recorded event freed; bytes as requested."""

    stack: Stack
    phase: str | None
    blocks: int
    requested_bytes: int


@dataclass(frozen=True)
class OutOfMemory:
    """One allocation that failed: the bytes asked for and the bytes the driver still had free (-1 if not said)."""

    requested_bytes: int
    device_free_bytes: int
    stack: Stack
    phase: str | None


class TimelineBlock(NamedTuple):
    """One block: the events between which it lived, ``end`` -1 if it lives on; its bytes; who allocated it."""

    start: int
    end: int
    size_bytes: int
    stack: Stack


class Timeline(NamedTuple):
    """The recorded events of one device as blocks over time.

    Attributes:
        n_events: length of the axis.
        n_blocks: blocks that the events tell of.
        blocks: the largest of them, in order of their start.
        before_bytes: what the events free that was allocated before the first of them.
        at: (n,) events at which the sum is given.
        level_bytes: (n,) the sum of all blocks after these events, ``before_bytes`` included.
    """

    n_events: int
    n_blocks: int
    blocks: tuple[TimelineBlock, ...]
    before_bytes: int
    at: tuple[int, ...]
    level_bytes: tuple[int, ...]


@dataclass(frozen=True)
class EventSums:
    """What the ring of recorded events says.

    Attributes:
        events: entries in the ring.
        allocations: how many of them are allocations.
        span_s: seconds between the first and the last; 0 where no times were recorded.
        survivors: allocations without a free, largest sum first.
        ooms: failed allocations.
        timeline: the largest blocks over time; ``None`` where no allocation was recorded.
    """

    events: int = 0
    allocations: int = 0
    span_s: float = 0.0
    survivors: tuple[Survivor, ...] = ()
    ooms: tuple[OutOfMemory, ...] = ()
    timeline: Timeline | None = None


@dataclass(frozen=True)
class DeviceSums:
    """One device in one snapshot."""

    device: int
    pools: Mapping[PoolKey, PoolSums]
    classes: Mapping[SizeClass, int]
    stacks: Mapping[Stack, StackTotals]
    events: EventSums = EventSums()

    def total(self, name: str, kind: str | None = None) -> int:
        """Add one field of ``PoolSums`` over all pools, or over those of one kind."""
        return sum(getattr(sums, name) for key, sums in self.pools.items() if kind in (None, key.kind))

    @property
    def has_unknown_pools(self) -> bool:
        """Whether a segment did not say if it is of the small or the large pool."""
        return any(key.kind == "unknown" for key in self.pools)


@dataclass(frozen=True)
class SnapshotSums:
    """One snapshot file, reduced.

    Attributes:
        name: the file's name.
        step: the step it was taken at, or its place in the series where no name says it.
        step_source: "name" or "order".
        rank: the process rank in the file's name, if any.
        time_s: when it was taken, seconds since the epoch, from its events or the file's own date.
        history: "none", "state" (blocks carry stacks, no events) or "events".
        settings: the allocator's configuration string.
        pickle_bytes: size of the pickle.
        devices: device index to its sums.
    """

    name: str
    step: int
    step_source: str
    rank: int | None
    time_s: float
    history: History
    settings: str
    pickle_bytes: int
    devices: Mapping[int, DeviceSums] = field(default_factory=dict)
