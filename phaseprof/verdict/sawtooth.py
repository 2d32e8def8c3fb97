"""Series with sawtooth cycles: garbage piles up and is collected. Only the floor says what stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from phaseprof.verdict.envelope import cycle_height, drops, is_cyclic, lower_envelope
from phaseprof.verdict.robust import Floats, median, theil_sen
from phaseprof.verdict.series import SPIKE, Bools, Series, thin
from phaseprof.verdict.shape import Outcome

MANY = 7  # floor readings that can be judged like any series
SLIGHT = 0.1  # of the highest cycle: what a few floor readings have to rise
BRIEF = 0.25  # of all readings: what stands high for less is a visit, as when a checkpoint is saved; cycles take half
OUTLASTS, OUTGROWS = 3.0, 4.0  # cycles seen: what rises for so many times the longest, and the highest, is no cycle
FASTER = 2.0  # times the slope of the floor: what leaks now is another leak
LOW = 0.25  # of a sawtooth cycle: a floor that moves less came back


def judge_cycles(series: Series, judge_level: Callable[[Floats, Floats], Outcome]) -> Outcome | None:
    """Judge a sawtooth by its floor; ``None`` where the series has no sawtooth cycles.

    Args:
        series: readings with the warm-up cut.
        judge_level: judges a series without sawtooth cycles; asked where the floor has seven readings or more.

    Smallest n: 3 floor readings for a leak. Cost: O(n).
    """
    if _marked(series):
        return _judge_floor(series, float(np.ptp(series.y)), judge_level)
    troughs = drops(series.y)
    visits = _visits(series.y, troughs)
    if visits.any() and visits.mean() < BRIEF:
        calm = series.only(~visits)
        outcome = judge_cycles(calm, judge_level)
        return outcome if outcome is not None else judge_level(calm.x, calm.y)
    if len(troughs) == 1:
        return _one_drop(series, int(troughs[0]), judge_level)
    if not is_cyclic(series.y, troughs):
        return None
    outcome = _judge_floor(series, cycle_height(series.y, troughs), judge_level)
    later = _outgrown(series, troughs, judge_level)
    if later is None or (outcome.verdict == "leak" and not _is_faster(series, int(troughs[-1]), outcome)):
        return outcome
    return later


def _marked(series: Series) -> bool:
    """Whether readings after full collections show a floor: three or more, and none stands above the one before it."""
    marks = np.flatnonzero(series.collected[1:]) + 1
    if len(marks) < 3 or len(marks) >= len(series) - 1:
        return False
    falls = series.y[marks - 1] - series.y[marks]
    return bool(falls.min() >= 0 and falls.max() > 0)


def _judge_floor(series: Series, height: float, judge_level: Callable[[Floats, Floats], Outcome]) -> Outcome:
    x, y = lower_envelope(series.x, series.y, series.collected)
    if len(x) >= MANY:
        return _as_floor(judge_level(x, y), x, y)
    return _few(x, y, height)


def _one_drop(series: Series, trough: int, judge_level: Callable[[Floats, Floats], Outcome]) -> Outcome | None:
    """One drop: back to where it began is the first cycle; a part of it is a release within other growth."""
    x, y = series.x, series.y
    height = float(y[trough - 1] - y[trough])
    rise = float(y[trough - 1] - y[:trough].min())
    if height < LOW * rise or rise < 0.5 * height:
        return _after_release(x[trough:], y[trough:], judge_level)
    if float(y[trough] - y[0]) <= LOW * height:
        return Outcome("sawtooth", "sawtooth")
    after = judge_level(x[trough:], y[trough:]) if len(x) - trough >= MANY else None
    if after is not None and after.verdict == "leak" and float(y[trough] - y[0]) >= height:
        return dataclasses.replace(after, begin=None, since=float(x[0]))
    return Outcome("growing", "sawtooth", p=0.1, since=float(x[0]))


def _outgrown(
    series: Series, troughs: NDArray[np.intp], judge_level: Callable[[Floats, Floats], Outcome]
) -> Outcome | None:
    """A leak since the last drop that is no further cycle: it has outlasted and outgrown every one that was seen."""
    x, y, last = series.x, series.y, int(troughs[-1])
    longest = float(np.diff(x[[0, *troughs.tolist()]]).max())
    if x[-1] - x[last] < OUTLASTS * longest or y[-1] - y[last] < OUTGROWS * cycle_height(y, troughs):
        return None
    return _after_release(x[last:], y[last:], judge_level)


def _is_faster(series: Series, last: int, floor: Outcome) -> bool:
    """Whether what rises since the last drop does so by far more than the floor that was seen until then.

    Example: a cache that is filled by fits and starts, and from the fiftieth generation on a leak ten times as fast.
    """
    return floor.slope is not None and theil_sen(*thin(series.x[last:], series.y[last:]))[0] > FASTER * floor.slope[0]


def _after_release(x: Floats, y: Floats, judge_level: Callable[[Floats, Floats], Outcome]) -> Outcome | None:
    """What was released once says nothing; a leak since then, longer than any cycle that was seen, is one."""
    after = judge_level(x, y) if len(x) >= 2 * MANY else None
    return after if after is not None and after.verdict == "leak" else None


def _visits(y: Floats, troughs: NDArray[np.intp]) -> Bools:
    """Readings that stand high between a leap and a drop of like size; garbage that piles up does not leap.

    A leap is at least half as high as the drop, and 5 usual moves.
    """
    high = np.zeros(len(y), bool)
    steps = np.diff(y)
    leaps = np.flatnonzero(steps > SPIKE * median(np.abs(steps))) + 1
    before = np.searchsorted(leaps, troughs) - 1
    for trough, leap in zip(troughs[before >= 0], leaps[before[before >= 0]], strict=True):
        half = (y[trough - 1] - y[trough]) / 2
        if steps[leap - 1] > half and y[leap:trough].min() > y[trough] + half:
            high[leap:trough] = True
    return high


def _as_floor(outcome: Outcome, x: Floats, y: Floats) -> Outcome:
    """Put what was found on the floor in the words of a sawtooth."""
    rising = outcome.verdict in ("leak", "growing")
    return dataclasses.replace(
        outcome,
        verdict=outcome.verdict if rising else "sawtooth",
        shape="sawtooth",
        begin=None,
        since=outcome.since if rising else None,
        slope=theil_sen(*thin(x, y)),
    )


def _few(x: Floats, y: Floats, height: float) -> Outcome:
    """Judge a floor of two to six readings: the fewer, the closer to a straight line its rise has to be."""
    slope = theil_sen(x, y)
    steps = np.diff(y)
    rise = float(y[-1] - y[0])
    if len(y) < 3 or rise <= 0 or rise < SLIGHT * height or steps.min() <= 0 or _bend(x, y) > _allowed(len(y)) * rise:
        moved = len(y) < 3 and rise > LOW * height
        if moved:
            return Outcome("growing", "sawtooth", since=float(x[0]), p=0.2, slope=slope)
        return Outcome("sawtooth", "sawtooth", p=0.2, slope=slope)
    return Outcome("leak", "sawtooth", since=float(x[0]), p=0.5 ** (2 * len(steps)), slope=slope)


def _bend(x: Floats, y: Floats) -> float:
    """Largest distance from the straight line through both ends."""
    line = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    return float(np.abs(y - line).max())


def _allowed(readings: int) -> float:
    return {3: 0.05, 4: 0.2}.get(readings, 0.35)
