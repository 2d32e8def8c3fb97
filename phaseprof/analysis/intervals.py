"""Which part of the loop a figure changes in: from one point to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

# Points that are no place in the loop, or repeat another point's reading.
COPIES = ("sample", "generation end")
# Of the rise, what a phase must add to be the one that leaks.
ABLE = 0.5


def between_points(levels: Mapping[str, Mapping[float, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return the change up to each point, from the point before it in the loop, turn by turn.

    Args:
        levels: for each point, in the order of the loop, its reading by position of the turn on any axis.

    Returns:
        Point to (position, change).  The change up to the first point of a turn is counted from the last point of the
        turn before, and only where that turn was read: over a gap it would be the change of several whole turns.
        Nothing for a single point.
    """
    points = list(levels)
    if len(points) < 2:
        return {}
    turns = sorted(set().union(*levels.values()))
    spacing = min((after - before for before, after in pairwise(turns)), default=math.inf)
    changes: dict[str, list[tuple[float, float]]] = {}
    for number, point in enumerate(points):
        earlier, shift = levels[points[number - 1]], 0.0 if number else spacing
        changes[point] = [(x, y - earlier[x - shift]) for x, y in levels[point].items() if x - shift in earlier]
    return changes


def nearest_phase(changes: Mapping[str, float], slope: float) -> str | None:
    """Choose the phase whose change per generation comes nearest to the rise: what it adds is not freed elsewhere.

    One that adds more than the rise may do so for a while, until another phase frees the rest; one that adds much less
    cannot be it, unless all do.
    """
    rising = {phase: change for phase, change in changes.items() if change > 0}
    able = [phase for phase, change in rising.items() if change >= ABLE * slope]
    return min(able or rising, key=lambda phase: (abs(rising[phase] - slope), -rising[phase]), default=None)
