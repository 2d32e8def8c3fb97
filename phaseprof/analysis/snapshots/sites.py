"""Which lines of the user's code allocated what grew, and which caller they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from phaseprof.analysis.snapshots.frames import innermost_own, is_own
from phaseprof.analysis.snapshots.model import DeviceSums, Frame, Stack

# A caller is "common" if this share of the growth passes through it: all but a stray block.
_COMMON_SHARE = 0.99

_Path = tuple[tuple[str, str], ...]  # (function, file) from the outermost own frame inward


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
    """Return the innermost own function that bears nearly all growth from the first snapshot to the last."""
    growth = _growth_by_stack(snapshots)
    total = sum(growth.values())
    if not total:
        return None
    through: Counter[_Path] = Counter()
    lines: dict[_Path, Counter[int]] = defaultdict(Counter)
    for stack, size in growth.items():
        path: _Path = ()
        for frame in reversed([frame for frame in stack if is_own(frame)]):
            path = (*path, (frame.name, frame.filename))
            through[path] += size
            lines[path][frame.line] += size
    shared = [path for path, size in through.items() if size >= _COMMON_SHARE * total]
    if not shared:
        return None
    deepest = max(shared, key=len)
    name, filename = deepest[-1]
    return CommonCaller(name, filename, dict(lines[deepest].most_common()), through[deepest] / total)


def stackless_blocks(sums: DeviceSums) -> tuple[int, int]:
    """Return the number and bytes of live blocks without a stack."""
    blocks = sum(totals.blocks for totals in sums.stacks.values())
    size = sum(totals.active_bytes for totals in sums.stacks.values())
    return sums.total("active_blocks") - blocks, sums.total("active_bytes") - size


def _growth_by_stack(snapshots: Sequence[DeviceSums]) -> dict[Stack, int]:
    first, last = snapshots[0].stacks, snapshots[-1].stacks
    growth = {
        stack: totals.active_bytes - (first[stack].active_bytes if stack in first else 0)
        for stack, totals in last.items()
    }
    return {stack: size for stack, size in growth.items() if size > 0}


def _site(frame: Frame, stacks: Sequence[Stack], snapshots: Sequence[DeviceSums], steps: Sequence[int]) -> SiteGrowth:
    found = [[sums.stacks[stack] for stack in stacks if stack in sums.stacks] for sums in snapshots]
    blocks = tuple(sum(totals.blocks for totals in group) for group in found)
    size = tuple(sum(totals.active_bytes for totals in group) for group in found)
    sizes: Counter[int] = Counter()
    phases: Counter[str] = Counter()
    for totals in found[-1]:
        sizes.update(totals.sizes)
        phases.update(totals.phases)
    return SiteGrowth(
        frame=frame,
        callers=_callers(stacks[0], frame),
        blocks=blocks,
        active_bytes=size,
        bytes_per_step=per_step(size, steps),
        blocks_per_step=per_step(blocks, steps),
        sizes=dict(sizes.most_common()),
        phases=dict(phases.most_common()),
        n_stacks=len(stacks),
    )


def _callers(stack: Stack, innermost: Frame) -> tuple[str, ...]:
    own = [frame for frame in stack if is_own(frame)]
    above = own[own.index(innermost) + 1 :] if innermost in own else []
    return tuple(frame.name for frame in above)


def per_step(values: Sequence[int], steps: Sequence[int]) -> float:
    """Return the median growth per step over the intervals; 0 for a single value.

    >>> per_step([0, 20, 40], [0, 10, 20])
    2.0
    """
    pairs = list(zip(values, steps, strict=True))
    return median([(b - a) / (t - s) for (a, s), (b, t) in zip(pairs, pairs[1:], strict=False)] or [0.0])
