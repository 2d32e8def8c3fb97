"""Fewer readings where a screen cannot show them all: extremes stay, so no spike is drawn away."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def thin(values: Sequence[float], most: int) -> list[int]:
    """Choose at most ``most`` readings: the least and the largest of each stretch, the first and the last.

    Args:
        values: (n,) the readings, in order.
        most: how many may stay, at least 4.

    Returns:
        Their positions, ascending; all of them where there are no more than ``most``.
    """
    n = len(values)
    if n <= most:
        return list(range(n))
    array = np.asarray(values, dtype=np.float64)
    kept = {0, n - 1}
    for begin, end in _stretches(n, (most - 2) // 2):
        kept.add(begin + int(array[begin:end].argmin()))
        kept.add(begin + int(array[begin:end].argmax()))
    return sorted(kept)


def thin_generations(
    generations: NDArray[np.int64], values: NDArray[np.float64], is_end: NDArray[np.bool_], most: int
) -> NDArray[np.bool_]:
    """Choose whole generations, so that each one drawn is drawn from its start to its end.

    Of each stretch of generations those stay that hold its least and its largest reading, at any point and among the
    readings that ``is_end`` marks; the first and the last stay too.

    Args:
        generations: (n,) generation of each reading, ascending.
        values: (n,) the readings.
        is_end: (n,) whether a reading was taken at the generation's end.
        most: how many readings may stay, about.

    Returns:
        (n,) whether each reading stays.
    """
    names, starts = np.unique(generations, return_index=True)
    room = max(8, int(most * len(names) / max(1, len(generations))))
    if len(names) <= room:
        return np.ones(len(generations), dtype=np.bool_)
    kept = {int(names[0]), int(names[-1])}
    bounds = [*starts.tolist(), len(generations)]
    for begin, end in _stretches(len(names), (room - 2) // 4):
        rows = slice(bounds[begin], bounds[end])
        for chosen in (slice(None), is_end[rows]):
            stretch, numbers = values[rows][chosen], generations[rows][chosen]
            if len(stretch):
                kept.update((int(numbers[stretch.argmin()]), int(numbers[stretch.argmax()])))
    return np.isin(generations, sorted(kept))


def _stretches(n: int, n_stretches: int) -> list[tuple[int, int]]:
    edges = np.linspace(0, n, max(1, n_stretches) + 1).astype(int).tolist()
    return [(begin, end) for begin, end in pairwise(edges) if end > begin]
