"""The walk of ``size_walk`` through the extension: one call a batch, and what it met is known by number only."""

from __future__ import annotations

from phaseprof.native import deep
from phaseprof.probes import tensors
from phaseprof.probes.size_plans import NOT_OWNED
from phaseprof.probes.size_walk import Found, Known

__all__ = ["NeedsPython", "SizeWalkInC"]


class NeedsPython(Exception):
    """There is no extension, or an array stands on what only Python can look at: what was added up does not count."""


class SizeWalkInC:
    """One walk.

    Args:
        known: what was measured before; ``None`` where nothing is measured after it.
        keeps_sizes: keep the id and size of each object.
        widest_bytes: a container whose own table takes more ends the walk before it is looked into.
    """

    def __init__(self, known: Known | None, *, keeps_sizes: bool, widest_bytes: int | None) -> None:
        self.found = Found(keeps_sizes=keeps_sizes)
        self._known = known
        self._widest_bytes = widest_bytes
        self._met = b""

    def run(self, start: list[object], *, limit_s: float | None = None, is_cpu_time: bool = False) -> bool:
        """Walk from some objects; return whether all was seen before a limit was met.

        Args:
            start: where to begin; the list is empty afterwards.
            limit_s: end after this many seconds.
            is_cpu_time: the limit is in seconds of this thread's processor time.

        Raises:
            NeedsPython: see there.
        """
        try:
            reached = deep.measure(
                start,
                left_out=NOT_OWNED,
                limit_s=limit_s,
                keeps_sizes=self.found.keeps_sizes,
                widest_bytes=self._widest_bytes,
                known=None if self._known is None else self._known.in_c,
                is_cpu_time=is_cpu_time,
            )
        finally:
            start.clear()
        if reached is None:
            raise NeedsPython
        self._add(reached)
        return not reached.is_partial

    def measure_alone(self, obj: object) -> None:
        """Add one object without what it refers to, unless it was measured before."""
        widest, self._widest_bytes = self._widest_bytes, 0
        try:
            self.run([obj])
        finally:
            self._widest_bytes = widest

    def commit(self) -> None:
        """Remember what was seen, for later parts."""
        if self._known is not None:
            self._known.in_c.learn(self._met)
            self._known.memory |= self.found.memory
        self.drop()

    def drop(self) -> None:
        """Let go of what is held."""
        self._met = b""

    def _add(self, reached: deep.Reached) -> None:
        self._met = reached.met
        self.found.ids += reached.ids
        self.found.sizes += reached.sizes
        self.found.total += reached.n_bytes
        try:
            storages = tensors.storages_behind(reached.tensors)
        finally:
            reached.tensors.clear()
        for address, (size, _) in storages.items():
            if self._known is None or address not in self._known.memory:
                self.found.add_memory(address, size)
