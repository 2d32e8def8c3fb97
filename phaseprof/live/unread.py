"""Time between boundaries that belongs to nobody, since visits of phases were only counted in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phaseprof.live.ledger import UNSEEN
from phaseprof.live.visits import Pace, Visited

# Labels whose counts are asked at a boundary that is looked at: 10 us.
MOST_ASKED = 64


class Unread:
    """Tells whether phases ran unread since it was last asked.

    What happened meanwhile was not outside all phases, and nobody knows in which.

    Args:
        clock: nanoseconds, monotonic.
        labels: of all phases, by name.
        pace: says until when visits may be only counted.
    """

    def __init__(self, clock: Callable[[], int], labels: Mapping[str, Visited], pace: Pace) -> None:
        self._clock, self._labels, self._pace = clock, labels, pace
        self._asked = self._n = 0

    def owner(self, phase: str | None) -> str | None:
        """Return whose the time before a boundary is, ``UNSEEN`` where that is not known.

        Args:
            phase: the innermost one whose boundaries were read; ``None`` where there is none.
        """
        return UNSEEN if phase is None and self._has_counted() else phase

    def _has_counted(self) -> bool:
        before, self._asked = self._asked, self._clock()
        if self._pace.gathers_until <= before:
            return False
        if len(self._labels) > MOST_ASKED:
            return True
        n_before, self._n = self._n, sum(label.n_counted() for label in list(self._labels.values()))
        return self._n != n_before
