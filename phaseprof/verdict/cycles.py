"""The sawtooth cycles of a counter that goes up by itself and down at once, as memory with unreachable objects does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# Dead cycles are a leak only where no collection comes in this many generations: a sawtooth needs time to show.
GARBAGE_GENERATIONS = 12
# Readings of the newest cycle that show that it rises, and those that do where a collection takes what it rose by.
_ENOUGH, FEW = 8, 4
# Of the whole range, the part by which a reading must fall for a new cycle to begin.
_FALL = 0.25
# Of the largest step of a sawtooth cycle, the part up to which a step is none: what is at hand by chance.
NEGLIGIBLE = 0.1


def cycle_begins(values: Sequence[float]) -> list[int]:
    """Return the indexes at which a cycle begins: the first reading, and each that lies far below the one before.

    Args:
        values: readings in order, any unit, at least one.

    >>> cycle_begins([1.0, 2.0, 3.0, 1.0, 2.0, 1.9, 3.0])
    [0, 3]
    """
    least = _FALL * (max(values) - min(values))
    return [0, *(at for at in range(1, len(values)) if values[at - 1] - values[at] > least)]


def long_cycle(generations: Sequence[int], values: Sequence[float], least: int = _ENOUGH) -> int | None:
    """Return the index at which the newest cycle begins, where they are so long that unreachable objects may be a leak.

    One cycle must have taken ``GARBAGE_GENERATIONS``, and the newest, which may be the only one, must never fall and
    rise to ``least`` readings or more: what is made in every third generation leaves the level about as it is in the
    others.

    >>> long_cycle(range(22), [*range(13), *range(9)])
    13
    >>> long_cycle(range(24), [at // 3 - 0.01 * (at % 3) for at in range(24)])
    0
    """
    begins = cycle_begins(values)
    longest = max(generations[b] - generations[a] for a, b in pairwise([*begins, len(values) - 1]))
    steps = [b - a for a, b in pairwise(values[begins[-1] :])]
    least_step = NEGLIGIBLE * max(steps, default=0.0)
    rises = sum(step > least_step for step in steps)
    if longest < GARBAGE_GENERATIONS or any(step < -least_step for step in steps) or rises < least - 1:
        return None
    return begins[-1]
