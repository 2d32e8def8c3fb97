"""Generations by the clock, for a program that marks nothing: half a second counts as one.

They are kept aside while the program runs, since it may still mark its own, and are written at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.gc_watch import GcWatch
from phaseprof.probes.malloc import MallocProbe
from phaseprof.recording import format as fmt

TICK_S = 0.5
AFTER_COLLECTION = "after_full_collection"
# Turns that are kept: when there are more, two become one, so that days take no more memory than minutes.
MOST = 512

Write = Callable[[fmt.Record], None]


class ClockTurns:
    """Readings at even intervals, in one thread; the interval grows with the run.

    Args:
        began_ns: when the run began, by the clock of every record.
    """

    def __init__(self, began_ns: int) -> None:
        self.tick_ns = int(TICK_S * 1e9)
        self._began = began_ns
        self._kept: list[tuple[int, int, dict[str, float]]] = []
        self._last = 0
        self._is_told = False
        self._gc = GcWatch()
        self._was_collected = False
        try:
            self._malloc: MallocProbe | None = MallocProbe()
        except ProbeUnavailable:
            self._malloc = None

    def see(self, now_ns: int, figures: Mapping[str, float]) -> None:
        """Keep a reading if a turn has ended since the last one.

        Cost: that of what malloc says, twice a second: from 20 µs to 5 ms, with the number of its free chunks.
        """
        tick = (now_ns - self._began) // self.tick_ns
        if tick <= self._last or self._is_told:
            return
        self._last = tick
        more = {name: float(value) for name, value in (self._malloc.read() if self._malloc is not None else {}).items()}
        more["gc/gc_collected"] = float(self._gc.read()["gc_collected"])
        more[AFTER_COLLECTION] = float(self._gc.full_since_last())
        self._was_collected = bool(more[AFTER_COLLECTION])
        self._kept.append((tick, now_ns, {**figures, **more}))
        if len(self._kept) > MOST:
            self._halve()

    def drop(self) -> None:
        """Keep no more: the program marks its own, and reading malloc would be paid for nothing."""
        self._is_told = True
        self._kept.clear()

    def was_collected(self) -> bool:
        """Whether a full collection has come since the reading before the newest, which the last of all replaces."""
        return self._gc.full_since_last() or self._was_collected

    def _halve(self) -> None:
        for (_, _, dropped), (tick, _, figures) in pairwise(self._kept):
            if tick % 2 == 0:  # a collection before the one that is dropped is one before the next
                figures[AFTER_COLLECTION] = max(figures[AFTER_COLLECTION], dropped[AFTER_COLLECTION])
        self._kept = [(tick // 2, now, figures) for tick, now, figures in self._kept if tick % 2 == 0]
        self.tick_ns *= 2
        self._last //= 2

    def write(self, write: Write, *, at: str, first: int) -> int:
        """Write the turns as generations, and keep no more: what follows is our own work; return the newest's ordinal.

        Args:
            write: takes a record.
            at: the point at which they are filed.
            first: ordinal of the first.
        """
        self._is_told = True
        kept, self._kept = self._kept, []
        for at_turn, (_, now, figures) in enumerate(kept, first):
            write(fmt.GenerationBegin(now - self.tick_ns, at_turn, "", implied=True))
            write(fmt.GenerationEnd(now, at_turn, self.tick_ns / 1e9))
            write(fmt.Metrics(now, at_turn, figures, at))
        return first + len(kept) - 1

    def close(self) -> None:
        """Give back what the probe holds."""
        if self._malloc is not None:
            self._malloc.close()
