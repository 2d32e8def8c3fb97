"""The teeth of a counter that goes up by itself and down at once, as memory with dead cycles does."""

from __future__ import annotations

from collections.abc import Sequence

# Of the whole range, the part by which a reading must fall for a new tooth to begin.
_FALL = 0.25


def teeth(values: Sequence[float]) -> list[int]:
    """Return the indexes at which a tooth begins: the first reading, and each that lies far below the one before.

    Args:
        values: readings in order, any unit, at least one.

    >>> teeth([1.0, 2.0, 3.0, 1.0, 2.0, 1.9, 3.0])
    [0, 3]
    """
    least = _FALL * (max(values) - min(values))
    return [0, *(at for at in range(1, len(values)) if values[at - 1] - values[at] > least)]
