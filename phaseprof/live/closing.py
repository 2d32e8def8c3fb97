"""The last look, made when a recording is closed: within its limit, and only where there is something left to see."""

from __future__ import annotations

from collections.abc import Callable

from phaseprof.live.suspects import Suspects
from phaseprof.progress import Progress

# Less growth than this may be taken back by anybody.
FELT_BYTES = 1 << 20


class ClosingLook:
    """Says what there is time for, shows on a terminal that something goes on, and keeps what was left.

    Args:
        limit_s: what the look may take in all; infinite where there is no limit.
        clock: nanoseconds of processor time, so that a busy machine takes no part of the look away.
    """

    def __init__(self, limit_s: float, clock: Callable[[], int]) -> None:
        self._limit_s = limit_s
        self._clock = clock
        self._began = clock()
        self._progress = Progress("phaseprof takes its last look")
        self._n_done = 0
        self.left: list[str] = []

    @property
    def left_s(self) -> float:
        """The seconds that are left."""
        return self._limit_s - (self._clock() - self._began) / 1e9

    def admits(self, what: str, cost_ns: float) -> bool:
        """Whether there is time for a part of the look that is expected to take ``cost_ns``; what is not is kept."""
        self._progress.update(self._n_done)
        self._n_done += 1
        fits = cost_ns / 1e9 <= self.left_s and self.left_s > 0
        if not fits:
            self.left.append(what)
        return fits

    def end(self) -> None:
        """Take what was shown off the terminal."""
        self._progress.end()

    def describe_left(self) -> str:
        """What was left, as a sentence; empty if nothing was."""
        if not self.left:
            return ""
        return (
            f"the look at the end was limited to {self._limit_s:g} s and left out {', '.join(self.left)}; "
            "a larger max_look (attach: --max-pause) gives it more time"
        )


def is_torn_down(suspects: Suspects) -> bool:
    """Whether memory in use fell by half of its growth since the last generation: what is left tells nothing."""
    memory, read = suspects.series("malloc_in_use_bytes"), suspects.reader_of("malloc_in_use_bytes")
    now = None if read is None else read()
    if memory is None or now is None:
        return False
    grown = memory.last - memory.values[0]
    return grown >= FELT_BYTES and now < memory.last - grown / 2
