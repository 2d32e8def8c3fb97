"""Blocks over time: which allocations of the recorded events lived from when to when, and the sum of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

from phaseprof.analysis.snapshots.frames import FrameTable
from phaseprof.analysis.snapshots.model import Timeline, TimelineBlock

# Blocks drawn one by one: a screen has room for no more.  Of the sum, the readings that are kept.
MOST_BLOCKS, MOST_LEVELS = 160, 240
_FREES = ("free_requested", "free_completed", "free")


class _Known(NamedTuple):
    start: int
    size: int
    frames: object


def build_timeline(entries: Sequence[dict[str, object]], frames: FrameTable) -> Timeline | None:
    """Pair allocations with their frees; ``None`` where no allocation was recorded.

    Args:
        entries: one device's events in the order in which they were recorded.
        frames: table that interns the entries' frames.

    Cost: about 1 µs an entry.
    """
    live: dict[int, _Known] = {}
    gone: set[int] = set()
    ended: list[tuple[_Known, int]] = []
    before, level = 0, 0
    levels: list[int] = []
    for at, entry in enumerate(entries):
        action, address, size = entry.get("action"), entry.get("addr"), entry.get("size", 0)
        if type(address) is int and type(size) is int:
            if action == "alloc":
                live[address] = _Known(at, size, entry.get("frames"))
                gone.discard(address)
                level += size
            elif action in _FREES and address not in gone:
                gone.add(address)
                known = live.pop(address, None)
                before += 0 if known else size
                level -= known.size if known else size
                ended.append((known or _Known(0, size, None), at))
        levels.append(level)
    found = [*((one, at) for one, at in ended), *((one, -1) for one in live.values())]
    if not found:
        return None
    chosen = sorted(nlargest(MOST_BLOCKS, found, key=lambda item: item[0].size), key=lambda item: item[0].start)
    blocks = tuple(
        TimelineBlock(one.start, end, one.size, frames.stack(frames.number(one.frames))) for one, end in chosen
    )
    kept = _thinned(levels)
    return Timeline(len(entries), len(found), blocks, before, tuple(kept), tuple(before + levels[at] for at in kept))


def _thinned(levels: Sequence[int]) -> list[int]:
    """Choose the least and the largest of each stretch, the first and the last."""
    wide = max(1, -(-2 * len(levels) // MOST_LEVELS))
    kept = {0, len(levels) - 1}
    for begin in range(0, len(levels), wide):
        stretch = range(begin, min(begin + wide, len(levels)))
        kept.update((min(stretch, key=levels.__getitem__), max(stretch, key=levels.__getitem__)))
    return sorted(kept)
