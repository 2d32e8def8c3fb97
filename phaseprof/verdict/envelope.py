"""The floor that a sawtooth returns to: what stands after each collection is what stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phaseprof.verdict.robust import ROUNDING, Floats, noise_of_steps
from phaseprof.verdict.series import Bools

DROP = 5.0  # a fall this many noise widths below the usual move is a drop, not noise
MOST_DROPS = 0.4  # of all moves: a sawtooth cycle needs at least as many rises as falls, or it is noise


def drops(y: Floats) -> NDArray[np.intp]:
    """Return the indices of the readings right after a drop: the troughs.

    Args:
        y: (n,) values in order of time.

    A drop falls below zero and below the median increment by 5 robust noise widths. Of falls in a row only the last
    counts. Smallest n: 3. Assumptions: cycles of at least 3 readings; at period 2 rise and fall look alike. Cost: O(n).
    """
    steps = np.diff(y)
    if len(steps) < 2:
        return np.zeros(0, np.intp)
    tolerance = ROUNDING * float(np.ptp(y))
    usual, width = noise_of_steps(steps)
    falls = steps < min(usual - DROP * width, -tolerance)
    last = falls & ~np.append(falls[1:], False)
    return np.flatnonzero(last) + 1


def is_cyclic(y: Floats, troughs: NDArray[np.intp]) -> bool:
    """Return whether the drops make cycles: two or more, fewer than rises, most of what falls, and built up again."""
    steps = np.diff(y)
    fallen = -float(np.minimum(steps, 0).sum())
    risen = float(y[-1] - y[0]) + fallen
    in_drops = float(np.sum(y[troughs - 1] - y[troughs]))
    return 2 <= len(troughs) <= MOST_DROPS * len(steps) and in_drops >= 0.5 * fallen and risen >= 0.5 * fallen


def lower_envelope(x: Floats, y: Floats, after_collection: Bools | None = None) -> tuple[Floats, Floats]:
    """Return the readings that mark the floor of a sawtooth.

    Args:
        x: (n,) positions.
        y: (n,) values.
        after_collection: (n,) true where a full collection came just before the reading; preferred where three or more.

    Returns:
        Positions and values of the floor: the marked readings, else the troughs after drops, else the whole series.

    The unfinished last cycle is never part of it, nor is the time before the first drop, which has no floor to show.
    Reference: the survivors after each collection are the live set (Jones, Hosking & Moss 2011, ch. 1). Assumptions:
    what a collection leaves is live; partial collections leave more, so single floor readings lie too high, never too
    low. Smallest n: 3 floor readings to speak of a trend. Cost: O(n).
    """
    if after_collection is not None and int(np.count_nonzero(after_collection)) >= 3:
        return x[after_collection], y[after_collection]
    troughs = drops(y)
    if not is_cyclic(y, troughs):
        return x, y
    return x[troughs], y[troughs]


def cycle_height(y: Floats, troughs: NDArray[np.intp]) -> float:
    """Return the height of the highest drop, in the unit of ``y``; 0 without drops."""
    return float((y[troughs - 1] - y[troughs]).max()) if len(troughs) else 0.0
