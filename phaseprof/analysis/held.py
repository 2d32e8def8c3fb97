"""Whether what memory grew by was held while it grew: then what went at the end was dropped by the program itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phaseprof.recording.model import ProcessRun
from phaseprof.records import OUTSIDE, UNIT_BYTES, UNREACHABLE

Memory = tuple[NDArray[np.float64], NDArray[np.float64]]  # generations, and bytes in each

# What waits for the collector, as each look by place finds it.
WAITING = "waiting_bytes"
# In the first generations memory grows by what is made once.
WARM_UP = 3
# How far growth until a look may be from what an even pace makes of the whole, and the part of it that is most of it.
ALIKE, MOSTLY = 2.0, 0.5


def grew_held(process: ProcessRun, at: str, generation: int) -> bool:
    """Whether most of what memory grew by at an even pace did not wait for the collector when that was last seen.

    A look by place sees what waits, and after a full collection nothing does.

    Example: in generation 34 of 60 a full collection took nothing, and memory had grown by half of what it came to.
    What goes in the last generation is a trainer that the program is done with, even where a collection takes it.

    Args:
        process: the recording.
        at: the point at which counters vote.
        generation: that of the end: what is seen in it, or after it, does not count.
    """
    memory = _memory(process, at, generation)
    if memory is not None and _came_held(process, generation, memory):
        return True
    seen = _seen_waiting(process, at, generation)
    if memory is None or seen is None:
        return False
    (when, waits), (generations, values) = seen, memory
    first, last = np.interp((WARM_UP, generations[-1]), generations, values).tolist()
    if when <= WARM_UP or last <= first:
        return False
    # A collection came after the reading before it: what that shows was there, and was not taken.
    before = values[max(0, int(np.searchsorted(generations, when)) - 1)]
    grown = float(min(before, np.interp(when, generations, values))) - first
    even = (last - first) * (when - WARM_UP) / (generations[-1] - WARM_UP)
    return bool(even / ALIKE <= grown <= even * ALIKE and waits < MOSTLY * grown)


def _came_held(process: ProcessRun, before: int, memory: Memory) -> bool:
    """Whether most of what memory grew by between two looks came to places that Python holds, or graphs did.

    What a graph saves lies in C++, and nobody sees how much that is.

    Example: ten losses come to a list in each generation, 900 bytes in Python and 33 KB in all.
    """
    for told in process.looks.values():
        held = [row for row in told.rows if row.steps and row.steps[0] not in (UNREACHABLE, OUTSIDE)]
        n = told.g - told.since
        if not 0 < n <= told.g < before:
            continue
        first, last = np.interp((told.since, told.g), *memory).tolist()
        came = sum(row.bytes for row in held)
        if any(row.graphs >= n for row in held) or came >= MOSTLY * (last - first) > 0:
            return True
    return False


def _seen_waiting(process: ProcessRun, at: str, before: int) -> tuple[int, float] | None:
    """The newest generation before one in which it was seen how many bytes wait, and how many that were."""
    looks, flags = process.series.get((at, WAITING)), process.series.get((at, "after_full_collection"))
    seen = [(g, waits) for g, waits in looks or () if g < before]
    seen += [(g, 0.0) for g, flag in flags or () if flag and g < before]
    return max(seen, default=None)


def _memory(process: ProcessRun, at: str, before: int) -> Memory | None:
    """What both allocators gave out, before a generation."""
    known = [
        (np.array(series.generations), unit * np.array(series.values))
        for metric, unit in UNIT_BYTES.items()
        if (series := process.series.get((at, metric))) is not None
    ]
    if not known:
        return None
    generations = known[0][0][known[0][0] < before].astype(np.float64)
    if len(generations) < 2:
        return None
    return generations, np.sum([np.interp(generations, when, values) for when, values in known], axis=0)
