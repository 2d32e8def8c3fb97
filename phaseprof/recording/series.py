"""A series of readings at one point, bounded in memory: old readings are thinned, the newest is always kept."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import lt
from typing import TYPE_CHECKING, Union

MAX_READINGS = 4096

# Numbers in few bytes: evenly spaced ones, machine numbers of one type, or, where neither fits, as they were.
_Packed = Union["range", "array[int]", "array[float]", "list[int]", "list[float]"]  # a string: evaluated on 3.10


class Series:
    """Readings by generation ordinal; a second reading in the same generation replaces the first.

    When more than ``MAX_READINGS`` are held, every other one is dropped and from then on only every ``stride``-th
    generation is kept, so that spacing stays even and memory bounded (about 64 KiB a series).

    A series that comes from another process stays packed, in a quarter of the memory, until somebody reads it.
    """

    __slots__ = ("_packed", "_stride", "generations", "values")

    def __init__(self, stride: int = 1) -> None:
        self.generations: list[int] = []
        self.values: list[float] = []
        self._stride = stride
        self._packed: tuple[_Packed, _Packed] | None = None

    def put(self, generation: int, value: float) -> None:
        """Record ``value`` for ``generation``; one that lies before the newest is left out."""
        generations = self.generations
        if len(generations) != len(self.values):
            self._mend()
        if self._stride == 1 and len(generations) < MAX_READINGS and (not generations or generation > generations[-1]):
            generations.append(generation)
            self.values.append(value)
        else:
            self.extend((generation,), (value,))

    def extend(self, new_generations: Sequence[int], new_values: Sequence[float], rises: bool = False) -> None:
        """Record many readings, in order, as ``put`` records one; ``rises``: each is known to be of a later generation.

        Cost: 0.03 µs a reading, 0.01 if they are known to rise, 0.1 once the series is thinned.
        """
        if len(self.generations) != len(self.values):
            self._mend()
        generations, values, stride = self.generations, self.values, self._stride
        if self._takes_all(new_generations, rises):
            generations.extend(new_generations)
            values.extend(new_values)
            return
        for generation, value in zip(new_generations, new_values, strict=True):
            if generations:
                last = generations[-1]
                if generation < last:
                    continue
                if last == generation or last % stride:
                    # The last one is either the same generation or off the grid, kept only while it was the newest.
                    generations[-1] = generation
                    values[-1] = value
                    continue
            generations.append(generation)
            values.append(value)
            if len(generations) > MAX_READINGS:
                self._thin()
                stride = self._stride

    def _mend(self) -> None:
        """Cut to equal lengths: a signal handler that raises may have come between the two halves of a reading."""
        least = min(len(self.generations), len(self.values))
        del self.generations[least:], self.values[least:]

    def _takes_all(self, new_generations: Sequence[int], rises: bool = False) -> bool:
        """Whether readings of these generations are all new, in order, and few enough to need no thinning."""
        if self._stride != 1 or len(self.generations) + len(new_generations) > MAX_READINGS or not new_generations:
            return False
        if self.generations and new_generations[0] <= self.generations[-1]:
            return False
        return rises or is_rising(new_generations)

    def _thin(self) -> None:
        self._stride *= 2
        last_generation, last_value = self.generations[-1], self.values[-1]
        kept = [(g, v) for g, v in zip(self.generations, self.values, strict=True) if g % self._stride == 0]
        if not kept or kept[-1][0] != last_generation:
            kept.append((last_generation, last_value))
        self.generations[:] = [g for g, _ in kept]
        self.values[:] = [v for _, v in kept]

    @property
    def last(self) -> float:
        """The newest reading."""
        return self.values[-1]

    def grown_since(self, generation: int) -> float:
        """By how much it has grown since the first reading of a generation or a later one; 0 of no reading."""
        if not len(self):
            return 0.0
        at = min(bisect_left(self.generations, generation), len(self.values) - 1)
        return float(self.last - self.values[at])

    def __len__(self) -> int:
        return len(self.values if self._packed is None else self._packed[1])

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self.generations, self.values, strict=False))  # a reading may be half there: see ``_mend``

    def __getstate__(self) -> tuple[int, tuple[_Packed, _Packed]]:
        packed = self._packed or (_packed_ordinals(self.generations), _packed_values(self.values))
        return self._stride, packed

    def __setstate__(self, state: tuple[int, tuple[_Packed, _Packed]]) -> None:
        self._stride, self._packed = state

    if not TYPE_CHECKING:  # or every misspelt attribute would pass the type checker

        def __getattr__(self, name: str) -> list[int] | list[float]:
            """Unpack on the first look at the readings; later ones find them in their slots and never come here."""
            if name not in ("generations", "values"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.generations, self.values = map(list, self._packed)
            self._packed = None
            return getattr(self, name)


def is_rising(generations: Sequence[int]) -> bool:
    """Whether each is later than the one before."""
    return all(map(lt, generations, generations[1:]))


class Sums(Series):
    """Deltas by generation ordinal, added up: several visits contribute to one, late ones too, in any order.

    When more than ``MAX_READINGS`` are held, every sum takes in its neighbour: from then on it stands for ``stride``
    generations, beginning with the one under which it is found, so that nothing is lost.
    """

    __slots__ = ()

    @property
    def stride(self) -> int:
        """Generations in each sum."""
        return self._stride

    def slot(self, generation: int) -> int:
        """Return the generation under which a delta of ``generation`` is found; those outside all keep their own."""
        return generation - generation % self._stride if generation > 0 else generation

    def put(self, generation: int, value: float) -> None:
        """Add ``value`` to the sum of ``generation``.  Cost: as ``extend``."""
        self.extend((generation,), (value,))

    def extend(self, new_generations: Sequence[int], new_values: Sequence[float], rises: bool = False) -> None:
        """Add many deltas, as ``Series.extend``.  Cost: 0.02 µs a delta of a new generation, 0.5 µs of another."""
        if len(self.generations) != len(self.values):
            self._mend()
        if self._takes_all(new_generations, rises):
            self.generations.extend(new_generations)
            self.values.extend(new_values)
            return
        for generation, value in zip(new_generations, new_values, strict=True):
            at = self.slot(generation)
            place = bisect_left(self.generations, at)
            if place < len(self.generations) and self.generations[place] == at:
                self.values[place] += value
                continue
            self.generations.insert(place, at)
            self.values.insert(place, value)
            while len(self.generations) > MAX_READINGS:
                self._thin()

    def _thin(self) -> None:
        self._stride *= 2
        sums: dict[int, float] = {}
        for generation, value in zip(self.generations, self.values, strict=True):
            at = self.slot(generation)
            sums[at] = sums.get(at, 0) + value
        self.generations[:] = sums
        self.values[:] = sums.values()


def _packed_ordinals(generations: list[int]) -> _Packed:
    if len(generations) > 1:
        even = range(generations[0], generations[-1] + 1, max(1, generations[1] - generations[0]))
        if len(even) == len(generations) and list(even) == generations:
            return even
    return _packed_values(generations)


def _packed_values(values: list[int] | list[float]) -> _Packed:
    """Pack numbers so that the same ones come out, integers as integers."""
    kinds = set(map(type, values))
    try:
        if kinds == {float}:
            return array("d", values)
        if kinds == {int}:
            return array("q", values)
    except OverflowError:
        pass  # beyond 64 bits: no counter of ours, but a file may say so
    return values
