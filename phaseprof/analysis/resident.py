"""Resident memory beside what the allocators know: what they took, and what somebody else mapped."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from phaseprof.analysis.held import WARM_UP
from phaseprof.analysis.naming import ALLOCATED
from phaseprof.analysis.symptoms import AT
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.verdict import judge

Floats = NDArray[np.float64]

# What malloc may keep of freed memory, as a heap does that takes pieces of many sizes: less is no finding, and none of
# what resident memory grew by is somebody else's where that is not known.
KEPT_LEAST_BYTES = 32 * 1024.0 * 1024.0
# What resident memory must have grown by beyond what the allocators took to be called mapped by hand, and the part of
# its growth that must be: without such a leak 140 runs of LeakBench and of trainers gained up to 1 MiB, and up to 10 of
# 176 where malloc kept the rest.
MAPPED_LEAST_BYTES, MAPPED_SHARE = 8 * 1024.0 * 1024.0, 0.5
# The largest object that Python's own allocator gives out as a block.
LARGEST_BLOCK = 512
# What it takes from the system at a time (CPython 3.10 on; less before).
ARENA_BYTES = 1024.0 * 1024.0


def is_of_allocators(process: ProcessRun) -> bool:
    """Whether resident memory grows by what the allocators took, or keep of what was freed, and by little beyond.

    What is left when the allocators are taken off is judged as a series: what they took once, at an import or while
    garbage waited, stays resident and is no growth.  Nor has more been allocated where pages of buffers that were
    allocated long ago are touched for the first time: then what malloc has given out is constant and large enough.
    """
    in_use = process.series.get((AT, ALLOCATED[0]))
    resident = process.series.get((AT, ALLOCATED[1]))
    if in_use is None or resident is None:
        return False
    rise = resident.last - resident.values[0]
    if in_use.last - resident.values[0] > 0.5 * rise:
        return True
    beyond = judge(_beyond_allocators(process, resident), resident.generations)
    begin = bisect_left(resident.generations, max(WARM_UP, beyond.since or 0))  # until then libraries are loaded
    begin = min(begin, len(resident) - 1)
    least = MAPPED_LEAST_BYTES if (AT, "malloc_free_bytes") in process.series else KEPT_LEAST_BYTES
    grown = beyond.slope * (resident.generations[-1] - resident.generations[begin])
    return beyond.verdict != "leak" or grown < max(least, MAPPED_SHARE * (resident.last - resident.values[begin]))


def _beyond_allocators(process: ProcessRun, resident: Series) -> Floats:
    """What is left of resident memory where all is taken off that the allocators may have taken; shape: (n_readings,).

    Pages in use once stay resident, so each allocator has taken what it had given out at its highest.  Blocks of
    Python's own take no more than resident memory rises by meanwhile, but for an arena, whose pages are touched one by
    one.
    """
    malloc, free, blocks = (
        process.series.get((AT, metric)) for metric in (ALLOCATED[0], "malloc_free_bytes", "python_blocks")
    )
    at = resident.generations
    left: Floats = np.array(resident.values, np.float64)
    if malloc is not None:
        levels = np.array(malloc.values)
        if free is not None:
            levels = levels + np.interp(malloc.generations, free.generations, free.values)
        left -= np.interp(at, malloc.generations, np.maximum.accumulate(levels))
    if blocks is None:
        return left
    given = LARGEST_BLOCK * np.diff(np.interp(at, blocks.generations, np.maximum.accumulate(blocks.values)))
    taken, waits = [0.0], 0.0
    for came, rise in zip(given.tolist(), np.diff(left).tolist(), strict=True):
        taken.append(min(waits + came, max(0.0, rise)))
        waits = min(ARENA_BYTES, waits + came - taken[-1])
    left -= np.cumsum(taken)
    return left
