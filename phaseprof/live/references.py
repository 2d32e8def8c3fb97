"""How often watched classes are referred to: what happens to their counts between two passes over the heap."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping

from phaseprof.live.watching import Watched
from phaseprof.probes.typeinfo import is_heap_type, with_subclasses

# Readings that wait for the next count; where there are more, every other one is dropped.
MOST_WAITING = 64


class References:
    """Follows the counts of watched classes by the references to the classes.

    Each instance of a class that is written in Python refers to the class, so that the class's reference count rises
    and falls with the number of instances, and reading it takes no pass over the heap.  What else refers to the class
    is the difference between the two; where it is the same at two passes, the counts in between are known as well.
    Where it is not, something other than instances came or went: nothing is said, and the class is not followed again.

    Cost: 1 µs a class and subclass at the end of each generation that is read.
    """

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int]] = {}
        self._now: dict[str, int] = {}
        self._waiting: list[tuple[int, int, dict[str, int]]] = []
        self._misled: set[str] = set()

    def read(self, now: int, generation: int, classes: Mapping[str, type]) -> None:
        """Read the references to each class, always from the same place, since callers refer to it as well."""
        self._now = {}
        for name, cls in classes.items():
            family = with_subclasses([cls])
            if name not in self._misled and all(map(is_heap_type, family)):
                self._now[name] = sum(map(sys.getrefcount, family))
            del family
        self._waiting.append((now, generation, self._now))
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[:-1:2]

    def tell_of_a_break(self, entries: Iterable[Watched]) -> bool:
        """Whether an expectation that held at the last count is broken now, going by references."""
        return any(
            entry.has_expectation and entry.since is None and not entry.keeps(count)
            for entry in entries
            if (count := self._count(entry.name, self._now)) is not None
        )

    def take(self, counts: Mapping[str, int], generation: int) -> list[tuple[int, int, dict[str, int]]]:
        """Take in what a pass has counted just now, at the end of ``generation``.

        Returns:
            For each generation read since the pass before, if something is known of it: when it ended, which it was,
            and the counts.
        """
        known = {name for name, count in counts.items() if self._count(name, self._now) == count}
        self._misled.update(name for name in counts if name in self._counted and name not in known)
        between = [(now, g, self._counts(readings, known)) for now, g, readings in self._waiting if g < generation]
        self._counted = {name: (count, self._now[name]) for name, count in counts.items() if name in self._now}
        self._waiting.clear()
        return [one for one in between if one[2]]

    def _counts(self, readings: Mapping[str, int], known: Collection[str]) -> dict[str, int]:
        found = {name: self._count(name, readings) for name in readings if name in known}
        return {name: count for name, count in found.items() if count is not None}

    def _count(self, name: str, readings: Mapping[str, int]) -> int | None:
        if name not in readings or name not in self._counted:
            return None
        count, references = self._counted[name]
        return count + readings[name] - references
