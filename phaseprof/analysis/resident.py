"""Resident memory beside what the allocators know: what they took, and what somebody else mapped."""

from __future__ import annotations

import numpy as np

from phaseprof.analysis.held import WARM_UP
from phaseprof.analysis.naming import ALLOCATED
from phaseprof.analysis.symptoms import AT
from phaseprof.recording.model import ProcessRun

# What malloc may keep of freed memory, as a heap does that takes pieces of many sizes: less is no finding, and none of
# what resident memory grew by is somebody else's where that is not known.
KEPT_LEAST_BYTES = 32 * 1024.0 * 1024.0
# What resident memory must have grown by beyond what the allocators took to be called mapped by hand, and the part of
# its growth that must be: without such a leak 140 runs of LeakBench and of trainers gained up to 1 MiB, and up to 10 of
# 176 where malloc kept the rest.
MAPPED_LEAST_BYTES, MAPPED_SHARE = 8 * 1024.0 * 1024.0, 0.5
# The largest object that Python's own allocator gives out as a block.
LARGEST_BLOCK = 512


def is_of_allocators(process: ProcessRun) -> bool:
    """Whether resident memory grows by what the allocators took, or keep of what was freed, and by little beyond.

    Nor has more been allocated where pages of buffers that were allocated long ago are touched for the first time: then
    what malloc has given out is constant and large enough.
    """
    in_use = process.series.get((AT, ALLOCATED[0]))
    resident = process.series.get((AT, ALLOCATED[1]))
    if in_use is None or resident is None:
        return False
    begin = min(WARM_UP, len(resident) // 2)  # until then libraries are loaded
    grown = resident.last - resident.values[begin]
    least = MAPPED_LEAST_BYTES if (AT, "malloc_free_bytes") in process.series else KEPT_LEAST_BYTES
    if grown - _taken_at_most(process, begin) < max(least, MAPPED_SHARE * grown):
        return True
    return in_use.last - resident.values[0] > 0.5 * (resident.last - resident.values[0])


def _taken_at_most(process: ProcessRun, begin: int) -> float:
    """By how many bytes the allocators grew since a reading, to their highest: pages in use once stay resident."""
    malloc, free, blocks = (
        process.series.get((AT, metric)) for metric in (ALLOCATED[0], "malloc_free_bytes", "python_blocks")
    )
    taken = 0.0
    if malloc is not None and len(malloc) > begin:
        levels = np.array(malloc.values)
        if free is not None:
            levels = levels + np.interp(malloc.generations, free.generations, free.values)
        taken += float(np.max(levels[begin:]) - levels[begin])
    if blocks is not None and len(blocks) > begin:
        taken += LARGEST_BLOCK * (max(blocks.values[begin:]) - blocks.values[begin])
    return taken
