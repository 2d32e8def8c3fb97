"""phaseprof: which phase of a training run leaks memory, what leaks, who holds it, and when the run will die.

    from phaseprof import profile_phase, checkpoint, generation, watch, track, log_memory

The functions of this module use one default profiler; :class:`Profiler` makes others.
"""

from __future__ import annotations

from phaseprof._version import __version__
from phaseprof.api import (
    assert_counts,
    assert_no_growth,
    checkpoint,
    configure,
    generation,
    get_profiler,
    load,
    log_memory,
    profile_phase,
    track,
    watch,
)
from phaseprof.profiler import Profiler
from phaseprof.records import Finding

__all__ = [
    "Finding",
    "Profiler",
    "__version__",
    "assert_counts",
    "assert_no_growth",
    "checkpoint",
    "configure",
    "generation",
    "get_profiler",
    "load",
    "log_memory",
    "profile_phase",
    "track",
    "watch",
]
