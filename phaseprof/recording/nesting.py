"""Phases that open and close one inside the other, matched for many boundaries at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from phaseprof.recording import format as fmt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# An open visit: its label, when it was entered (ns), and for how many visits it stands.
OpenVisit = tuple[int, int, int]

OUTSIDE_ID = -1
# The edge of a row that stands for no boundary: another thread takes over the lane's number, where nothing is open.
TAKEN_OVER = 3
# No visit stands for more: a file may say anything.
MOST_STOOD_FOR = 1e9
# Fewer rows are walked one by one in less time than it takes to set up arrays.
_FEW = 100
# Deeper than programs nest phases; each level takes a pass over all rows.
_DEEPEST = 32
# Tables of so many entries cost less than to sort.
_SMALL = 4096
# Whole numbers in float64 are exact below it.
_EXACT = 2.0**53


class Rows(NamedTuple):
    """Boundaries of one thread, or of several, in order: label, edge, time (ns), generation, and items."""

    ids: Ints
    edges: Ints
    times: Ints
    generations: Ints
    items: Floats

    def take(self, at: Sequence[int]) -> Rows:
        """Return the rows at these places."""
        return Rows(self.ids[at], self.edges[at], self.times[at], self.generations[at], self.items[at])


class Times(NamedTuple):
    """Time in one phase: ``timed`` visits of ``ns`` in all; by generation of their end, with those they stand for."""

    timed: int
    ns: int
    generations: list[int]
    added: list[float]


class Walk(NamedTuple):
    """What follows from the boundaries of one thread.

    Attributes:
        owners: for each row the label that the time before it belongs to.
        at: rows that end a stretch of a visit which stands for others as well.
        weights: for how many it stands.
        outer: the label of the visit around it.
        times: label of a phase to the time in it, in the order of first ends.
        around: pairs of a phase that ended and the one directly around it.
    """

    owners: Ints
    at: Ints
    weights: Ints
    outer: Ints
    times: dict[int, Times]
    around: Iterable[tuple[int, int]]


def walk_nested(stack: list[OpenVisit], rows: Rows, turns: set[int]) -> Walk | None:
    """Match the beginnings and ends of one thread's phases where each ends before the one around it does.

    Args:
        stack: visits that are open; on success, those open after the last row.
        rows: its boundaries.
        turns: labels of generations, which are no phases.

    Returns:
        ``None``, and nothing is changed, where ends are missing or cross, a checkpoint stands outside of phases, or
        there is too little to gain: then each row has to be followed by itself.

    Cost: 0.1 µs a row; a tenth of following each.
    """
    if len(rows.ids) < _FEW or TAKEN_OVER in rows.edges:
        return None
    n_open = len(stack)
    ids = np.concatenate((np.array([visit[0] for visit in stack], np.int64), rows.ids))
    times = np.concatenate((np.array([visit[1] for visit in stack], np.int64), rows.times))
    before, after = _depths(n_open, rows, turns)
    if after.min() < 0 or after.max() > _DEEPEST or ((rows.edges == fmt.POINT) & (before[n_open:] == 0)).any():
        return None
    events = np.flatnonzero(after != before)
    level = np.maximum(after, before)[events]
    order = events[np.argsort(level.astype(np.uint8), kind="stable")]  # few bits are sorted by counting
    is_end = (after < before)[order]
    ends = order[is_end]
    begins = order[np.flatnonzero(is_end) - 1]  # levels have begins and ends in turn
    if (ids[ends] != ids[begins]).any():
        return None
    weights = np.ones(len(ids), np.int64)
    weights[:n_open] = [visit[2] for visit in stack]
    is_many = (rows.edges == fmt.ENTER) & (rows.items > 1) & (rows.items < MOST_STOOD_FOR)
    weights[n_open:][is_many] = rows.items[is_many].astype(np.int64)
    by_end = np.argsort(ends)
    begins, ends = begins[by_end], ends[by_end]
    spent = times[ends] - times[begins]
    at_end = rows.generations[ends - n_open]
    if not _is_exact(times, spent, weights[begins]) or (at_end[1:] < at_end[:-1]).any():
        return None
    tops = _innermost(before, after)
    owners = np.where(tops >= 0, ids[tops], OUTSIDE_ID)
    times_of = _times(ids[ends], at_end, spent, weights[begins])
    around = set(zip(ids[ends].tolist(), owners[begins].tolist(), strict=True))
    is_scaled = (tops[n_open:] >= 0) & (weights[tops[n_open:]] > 1)
    at = np.flatnonzero(is_scaled)
    inner = tops[n_open:][at]
    is_open = np.zeros(len(ids), np.bool_)
    is_open[order[~is_end]] = True
    is_open[begins] = False
    still = np.flatnonzero(is_open)
    stack[:] = [(int(ids[one]), int(times[one]), int(weights[one])) for one in still]
    return Walk(owners[n_open:], at, weights[inner], owners[inner], times_of, around)


def numbered(codes: Ints) -> tuple[Ints, Ints]:
    """Number codes, none below -1, in the order in which they come first.

    Returns:
        (n_different,) the codes in that order; (n,) the number of each.

    Cost: 5 ns a code where codes are small, as those of labels are; else those of a sort.
    """
    least, largest = (int(codes.min()), int(codes.max())) if codes.size else (0, 0)
    if largest - least < _SMALL + codes.size:
        first = np.full(largest - least + 1, codes.size)
        first[codes[::-1] - least] = np.arange(codes.size)[::-1]
        found = np.flatnonzero(first < codes.size)
        found = found[np.argsort(first[found])]
        number_of = first  # no longer needed as it is
        number_of[found] = np.arange(found.size)
        return found + least, number_of[codes - least]
    different, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.empty(order.size, np.int64)
    numbers[order] = np.arange(order.size)
    return different[order], numbers[inverse]


def _depths(n_open: int, rows: Rows, turns: set[int]) -> tuple[Ints, Ints]:
    """Return how many phases are open before and after each row; visits that are open already come first."""
    steps = (rows.edges == fmt.ENTER).astype(np.int64) - (rows.edges == fmt.EXIT)
    for turn in turns:
        steps[rows.ids == turn] = 0
    steps = np.concatenate((np.ones(n_open, np.int64), steps))
    after = np.cumsum(steps)
    return after - steps, after


def _innermost(before: Ints, after: Ints) -> Ints:
    """Return for each row the row at which the visit began that is innermost before it; -1 where none is open."""
    tops = np.full(len(before), -1, np.int64)
    places = np.arange(len(before))
    for depth in range(1, int(before.max()) + 1):
        begun = np.maximum.accumulate(np.where((after == depth) & (before == depth - 1), places, -1))
        inside = before == depth
        tops[inside] = begun[inside]
    return tops


def _is_exact(times: Ints, spent: Ints, weights: Ints) -> bool:
    """Whether all sums of times are exact as floats, and none overflows; a file may say anything."""
    if float(times.max()) - float(times.min()) > _EXACT:
        return False
    return float(np.abs(spent.astype(np.float64)) @ weights) < _EXACT


def _times(ids: Ints, generations: Ints, spent: Ints, weights: Ints) -> dict[int, Times]:
    """Add up the time in phases, in all and by generation.

    Args:
        ids: (n_visits,) label, in the order of their ends.
        generations: (n_visits,) of the end, never falling.
        spent: (n_visits,) ns.
        weights: (n_visits,) for how many each stands.
    """
    order = np.argsort(ids, kind="stable")
    ids, generations, spent = ids[order], generations[order], spent[order]
    if not len(ids):
        return {}
    is_next = ids[1:] != ids[:-1]
    starts = np.concatenate(([0], np.flatnonzero(is_next) + 1))
    cuts = np.concatenate(([0], np.flatnonzero(is_next | (generations[1:] != generations[:-1])) + 1))
    n_visits = np.diff(np.append(starts, len(ids))).tolist()
    in_all = np.add.reduceat(spent, starts).tolist()
    at, added = generations[cuts].tolist(), np.add.reduceat(spent * weights[order], cuts).astype(np.float64).tolist()
    bounds = [*np.searchsorted(cuts, starts).tolist(), len(cuts)]
    numbers = ids[starts].tolist()
    by_first_end = np.argsort(order[starts]).tolist()
    return {
        numbers[i]: Times(
            n_visits[i], in_all[i], at[bounds[i] : bounds[i + 1]], added[bounds[i] : bounds[i + 1]]
        )
        for i in by_first_end
    }  # fmt: skip
