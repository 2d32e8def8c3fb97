"""What the garbage collector did: how often, and which readings follow a full collection."""

from __future__ import annotations

import gc
from collections.abc import Mapping

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.protocol import CostClass

_FULL = 2


class GcWatch:
    """Count collections by the collector's own statistics; never starts one, never changes the thresholds.

    Metrics, all since the watch began: ``gc_collections_0``, ``gc_collections_1`` and ``gc_collections_2`` (2 is a full
    collection), ``gc_collected`` and ``gc_uncollectable`` objects.

    Traps: readings right after a full collection hold no dead cycles and are the ones to compare; on a large old heap
    many generations pass between two of them. Python 3.14 collects old objects in slices and reports those as
    generation 1, so there only a collection asked for by name counts as full. ``gc.callbacks`` would tell how long each
    took, but an exception that a signal handler raises inside a callback never reaches the program.

    Cost: 1 us a reading (two shared AMD EPYC cores, Python 3.11). Source: ``gc.get_stats``.
    """

    name = "gc"
    cost = CostClass.POINT

    def __init__(self) -> None:
        self._is_closed = False
        self._first = _totals()
        self._full_seen = self._first[_FULL]

    def read(self) -> Mapping[str, int | float]:
        """Read the counts; see the class for metrics and cost.

        Raises:
            ProbeUnavailable: the watch was closed.
        """
        if self._is_closed:
            raise ProbeUnavailable("cannot read the collector: the watch was closed")
        youngest, middle, full, collected, uncollectable = (
            now - first for now, first in zip(_totals(), self._first, strict=True)
        )
        return {
            "gc_collections_0": youngest,
            "gc_collections_1": middle,
            "gc_collections_2": full,
            "gc_collected": collected,
            "gc_uncollectable": uncollectable,
        }

    def full_since_last(self) -> bool:
        """Tell whether a full collection has ended since this was last asked. Cost: 1 us."""
        full = self._full_seen if self._is_closed else _totals()[_FULL]
        is_new = full != self._full_seen
        self._full_seen = full
        return is_new

    @property
    def has_run_fully(self) -> bool:
        """Whether a full collection has ended since ``full_since_last`` was asked. Cost: 1 us."""
        return not self._is_closed and _totals()[_FULL] != self._full_seen

    def close(self) -> None:
        """End the watch; may be called twice."""
        self._is_closed = True


def _totals() -> list[int]:
    """Collections of each generation, and objects that they freed and could not free, since the process began."""
    stats = gc.get_stats()
    return [
        *(int(one["collections"]) for one in stats),
        sum(int(one["collected"]) for one in stats),
        sum(int(one["uncollectable"]) for one in stats),
    ]
