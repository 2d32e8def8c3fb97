"""Whether what memory grew by was held while it grew: then what went at the end was dropped by the program itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phaseprof.recording.model import ProcessRun
from phaseprof.records import BLOCK_BYTES

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


def _seen_waiting(process: ProcessRun, at: str, before: int) -> tuple[int, float] | None:
    """The newest generation before one in which it was seen how many bytes wait, and how many that were."""
    looks, flags = process.series.get((at, WAITING)), process.series.get((at, "after_full_collection"))
    seen = [(g, waits) for g, waits in looks or () if g < before]
    seen += [(g, 0.0) for g, flag in flags or () if flag and g < before]
    return max(seen, default=None)


def _memory(process: ProcessRun, at: str, before: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """What both allocators gave out, before a generation."""
    known = [
        (np.array(series.generations), unit * np.array(series.values))
        for metric, unit in (("malloc_in_use_bytes", 1.0), ("python_blocks", BLOCK_BYTES))
        if (series := process.series.get((at, metric))) is not None
    ]
    if not known:
        return None
    generations = known[0][0][known[0][0] < before].astype(np.float64)
    if len(generations) < 2:
        return None
    return generations, np.sum([np.interp(generations, when, values) for when, values in known], axis=0)
