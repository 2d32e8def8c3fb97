"""Which part of the loop a figure changes in: from one point to the next."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from types import MappingProxyType

from phaseprof.recording.folding import OUTSIDE

_FLAT: Mapping[str, str] = MappingProxyType({})
# Points that are no place in the loop, or repeat another point's reading.
COPIES = ("sample", "generation end")
# Of the rise, what a phase must add to be the one that leaks.
ABLE = 0.5
# Of what a phase adds with all that lies in it, the part and the multiple that one of them must add to be it instead.
INNER, MORE = 0.7, 1.3
# Of the largest step of a counter, the part from which on one is a rise; how many rises, and generations without one,
# show that it rises in some generations only.
CLEARLY, OFTEN = 0.25, 3
# Of the rise, what a phase around others must change by itself to be one that can leak.
OF_ITS_OWN = 0.1
# How far from the rise a change may be that is just the rise.
JUST = 0.1


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


def is_just(change: float, slope: float) -> bool:
    """Whether a change a generation is just the rise."""
    return abs(change - slope) <= JUST * slope


def phase_of_just(changes: Mapping[str, float], slope: float) -> str | None:
    """Return the one phase that changes by just the rise, whatever others add and free; ``None`` without one.

    Example: ``install`` adds the 176 KB that the rise comes to, ``run`` 343 KB, which every fourth ``select`` frees.
    """
    found = [phase for phase, change in changes.items() if is_just(change, slope) and phase != OUTSIDE]
    return found[0] if len(found) == 1 else None


def nearest_phase(changes: Mapping[str, float], slope: float, around: Mapping[str, str] = _FLAT) -> str | None:
    """Choose the phase whose change per generation comes nearest to the rise: what it adds is not freed elsewhere.

    One that adds more than the rise may do so for a while, until another phase frees the rest; one that adds much less
    cannot be it, unless all do. A phase counts with those in it, since it may free what they add; where one of them
    adds about as much as all of it, that is the one.

    Example: ``backward`` adds gradients of 600 KiB; ``train`` around it drops them and keeps batches of 1 MiB, which is
    the rise. In all ``train`` adds 1 MiB, so that it is ``train``.

    Args:
        changes: what each phase changed by itself, a generation.
        slope: the rise a generation.
        around: for each phase, the one around it.
    """
    whole = with_those_inside(changes, around)
    can_leak = set(whole) - set(around.values())
    can_leak |= {phase for phase in whole if abs(changes.get(phase, 0.0)) >= OF_ITS_OWN * slope}
    rising = {phase: change for phase, change in whole.items() if change > 0 and phase in can_leak}
    able = [phase for phase, change in rising.items() if change >= ABLE * slope]
    phase = min(able or rising, key=lambda phase: (abs(rising[phase] - slope), -rising[phase]), default=None)
    return None if phase is None else innermost(phase, rising, around)


def rises_only_with(steps: Mapping[int, float], visits: Mapping[str, Collection[int]]) -> set[str]:
    """Return the phases that come just in the generations in which a counter rises, where it does not in others.

    Example: memory rises in every fourth generation, and ``consolidate`` comes in no other; ``train`` comes in each.

    Args:
        steps: generation to what the counter changed by in it; generations that were not read are absent.
        visits: phase to the generations in which it was seen.
    """
    least = CLEARLY * max(steps.values(), default=0.0)
    rising = {g for g, step in steps.items() if step > least}
    others = steps.keys() - rising
    if min(len(rising), len(others)) < OFTEN:
        return set()
    return {phase for phase, seen in visits.items() if rising <= set(seen) and others.isdisjoint(seen)}


def with_those_inside(changes: Mapping[str, float], around: Mapping[str, str]) -> dict[str, float]:
    """Return what each phase changed with all that lies in it."""
    whole: defaultdict[str, float] = defaultdict(float)
    for phase, change in changes.items():
        for name in (phase, *_outwards(phase, around)):
            whole[name] += change
    return dict(whole)


def outermost(phase: str, around: Mapping[str, str]) -> str:
    """Return the phase around all others that a phase lies in, or the phase itself."""
    return [phase, *_outwards(phase, around)][-1]


def _outwards(phase: str, around: Mapping[str, str]) -> list[str]:
    """The phases around one, the nearest first; names that are used at several places may go round in a circle."""
    found: list[str] = []
    outer = around.get(phase)
    while outer is not None and outer != phase and outer not in found:
        found.append(outer)
        outer = around.get(outer)
    return found


def innermost(phase: str, rising: Mapping[str, float], around: Mapping[str, str]) -> str:
    """Go from a phase to the innermost in it that adds about as much as all of it."""
    if phase not in rising:
        return phase
    about = INNER * rising[phase], MORE * rising[phase]
    able = [p for p, change in rising.items() if phase in _outwards(p, around) and about[0] <= change <= about[1]]
    return max(able, key=lambda p: len(_outwards(p, around)), default=phase)
