"""The last look, made when a recording is closed: within its limit, and only where there is something left to see."""

from __future__ import annotations

from phaseprof.live.suspects import Suspects

# Less growth than this may be taken back by anybody.
FELT_BYTES = 1 << 20


def tells_enough(suspects: Suspects, each_ns: int, limit_s: float) -> bool:
    """Whether a look is worth while: always where findings are asked for.

    Args:
        suspects: know the series and the number of objects.
        each_ns: what a walk takes for each of these.
        limit_s: what the look may take; infinite where findings are asked for.
    """
    if limit_s == float("inf"):
        return True
    return suspects.n_objects() * each_ns <= limit_s * 1e9 and not is_torn_down(suspects)


def is_torn_down(suspects: Suspects) -> bool:
    """Whether memory in use fell by half of its growth since the last generation: what is left tells nothing."""
    memory, read = suspects.series("malloc_in_use_bytes"), suspects.reader_of("malloc_in_use_bytes")
    now = None if read is None else read()
    if memory is None or now is None:
        return False
    grown = memory.last - memory.values[0]
    return grown >= FELT_BYTES and now < memory.last - grown / 2
