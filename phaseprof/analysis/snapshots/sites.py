"""Which lines of the user's code allocated what grew, and which caller they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from phaseprof.analysis.snapshots.frames import innermost_own, is_own
from phaseprof.analysis.snapshots.model import DeviceSums, Frame, Stack

# A caller is "common" if this share of the growth passes through it: all but a stray block.
_COMMON_SHARE = 0.99


@dataclass(frozen=True)
class SiteGrowth:
    """Live blocks that one line of the user's code allocated, over the snapshots that carry stacks.

    Attributes:
        frame: the innermost frame of the user's own code.
        callers: names of the user's functions above it, nearest first.
        blocks: (n,) live blocks in each snapshot.
        active_bytes: (n,) their rounded bytes.
        bytes_per_step: median over the intervals.
        blocks_per_step: the same for blocks.
        sizes: requested size to live blocks in the last snapshot.
        phases: phase to live blocks of the last snapshot whose allocation was recorded.
        n_stacks: different full stacks behind the line.
        example: the one of them with the most live blocks.
    """

    frame: Frame
    callers: tuple[str, ...]
    blocks: tuple[int, ...]
    active_bytes: tuple[int, ...]
    bytes_per_step: float
    blocks_per_step: float
    sizes: Mapping[int, int]
    phases: Mapping[str, int]
    n_stacks: int
    example: Stack

    @property
    def growth(self) -> int:
        """Bytes in the last snapshot less those in the first."""
        return self.active_bytes[-1] - self.active_bytes[0]


@dataclass(frozen=True)
class CommonCaller:
    """The innermost own function through which almost all growth passes.

    Attributes:
        name: the function.
        filename: its file.
        lines: line number to growth in bytes, of the lines at which the growth passes through it, largest first.
        share: part of the growth that passes, 0 to 1.
    """

    name: str
    filename: str
    lines: Mapping[int, int]
    share: float


def site_growth(snapshots: Sequence[DeviceSums], steps: Sequence[int]) -> tuple[SiteGrowth, ...]:
    """Group live blocks by the innermost frame of the user's own code, largest growth first.

    Args:
        snapshots: (n,) sums of one device; those without stacks must have been left out.
        steps: (n,) their steps.
    """
    stacks_of: dict[Frame, set[Stack]] = defaultdict(set)
    for sums in snapshots:
        for stack in sums.stacks:
            frame = innermost_own(stack)
            if frame is not None:
                stacks_of[frame].add(stack)
    sites = [_site(frame, sorted(stacks), snapshots, steps) for frame, stacks in stacks_of.items()]
    return tuple(sorted(sites, key=lambda found: (-found.growth, -found.active_bytes[-1], found.frame)))


def common_caller(snapshots: Sequence[DeviceSums]) -> CommonCaller | None:
    """Return the innermost own function that bears nearly all growth from the first snapshot to the last.

    ``None`` if there is none, or if nearly all memory that does not grow passes through it as well: the function that
    holds the main loop says nothing.
    """
    growth, rest = _growth_and_rest(snapshots)
    paths = _Paths()
    through, of_rest = paths.bytes_through(growth), paths.bytes_through(rest)
    least = _COMMON_SHARE * sum(growth.values())
    shared = [path for path, lines in through.items() if sum(lines.values()) >= least]
    if not shared:
        return None
    deepest = max(shared)
    if rest and sum(of_rest.get(deepest, Counter()).values()) >= _COMMON_SHARE * sum(rest.values()):
        return None
    name, filename = paths.function(deepest)
    lines = through[deepest]
    return CommonCaller(name, filename, dict(lines.most_common()), sum(lines.values()) / sum(growth.values()))


def stackless_blocks(sums: DeviceSums) -> tuple[int, int]:
    """Return the number and bytes of live blocks without a stack."""
    blocks = sum(totals.blocks for totals in sums.stacks.values())
    size = sum(totals.active_bytes for totals in sums.stacks.values())
    return sums.total("active_blocks") - blocks, sums.total("active_bytes") - size


def _growth_and_rest(snapshots: Sequence[DeviceSums]) -> tuple[dict[Stack, int], dict[Stack, int]]:
    """Return the growth in bytes of the stacks that grow, and the bytes of those that do not."""
    first, last = snapshots[0].stacks, snapshots[-1].stacks
    growth: dict[Stack, int] = {}
    rest: dict[Stack, int] = {}
    for stack, totals in last.items():
        change = totals.active_bytes - (first[stack].active_bytes if stack in first else 0)
        if change > 0:
            growth[stack] = change
        else:
            rest[stack] = totals.active_bytes
    return growth, rest


class _Paths:
    """Numbers the ways from the outermost own function inward; a longer way has a larger number than its beginning."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str, str], int] = {}
        self._functions: list[tuple[str, str]] = []

    def function(self, path: int) -> tuple[str, str]:
        """Return name and file of the function in which a way ends."""
        return self._functions[path]

    def bytes_through(self, sizes: Mapping[Stack, int]) -> dict[int, Counter[int]]:
        """Add the bytes of stacks to every way that leads to them, by the line at which they pass its last function."""
        through: dict[int, Counter[int]] = defaultdict(Counter)
        for stack, size in sizes.items():
            path = -1
            for frame in reversed(stack):
                if is_own(frame):
                    path = self._step(path, frame)
                    through[path][frame.line] += size
        return through

    def _step(self, path: int, frame: Frame) -> int:
        number = self._numbers.setdefault((path, frame.name, frame.filename), len(self._functions))
        if number == len(self._functions):
            self._functions.append((frame.name, frame.filename))
        return number


def _site(frame: Frame, stacks: Sequence[Stack], snapshots: Sequence[DeviceSums], steps: Sequence[int]) -> SiteGrowth:
    found = [[sums.stacks[stack] for stack in stacks if stack in sums.stacks] for sums in snapshots]
    blocks = tuple(sum(totals.blocks for totals in group) for group in found)
    size = tuple(sum(totals.active_bytes for totals in group) for group in found)
    sizes: Counter[int] = Counter()
    phases: Counter[str] = Counter()
    for totals in found[-1]:
        sizes.update(totals.sizes)
        phases.update(totals.phases)
    last = snapshots[-1].stacks
    example = max(stacks, key=lambda stack: last[stack].blocks if stack in last else 0)
    return SiteGrowth(
        frame=frame,
        callers=_callers(example, frame),
        blocks=blocks,
        active_bytes=size,
        bytes_per_step=per_step(size, steps),
        blocks_per_step=per_step(blocks, steps),
        sizes=dict(sizes.most_common()),
        phases=dict(phases.most_common()),
        n_stacks=len(stacks),
        example=example,
    )


def _callers(stack: Stack, innermost: Frame) -> tuple[str, ...]:
    own = [frame for frame in stack if is_own(frame)]
    above = own[own.index(innermost) + 1 :] if innermost in own else []
    return tuple(frame.name for frame in above)


def per_step(values: Sequence[float], steps: Sequence[int]) -> float:
    """Return the median growth per step over the intervals; 0 for a single value.

    >>> per_step([0, 20, 40], [0, 10, 20])
    2.0
    """
    pairs = list(zip(values, steps, strict=True))
    return median([(b - a) / (t - s) for (a, s), (b, t) in pairwise(pairs)] or [0.0])
