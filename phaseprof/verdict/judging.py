"""From one series to one verdict."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from phaseprof.verdict.counters import LEAST, is_counter, judge_counter, rise_indices
from phaseprof.verdict.ending import ending
from phaseprof.verdict.judgement import Judgement
from phaseprof.verdict.noise import judge_noisy
from phaseprof.verdict.robust import Floats, middle, theil_sen
from phaseprof.verdict.sawtooth import judge_cycles
from phaseprof.verdict.series import Bools, Series, make_series, thin, without_alternation, without_spikes
from phaseprof.verdict.shape import Outcome

TOO_SHORT = 6  # readings: with fewer, even rises without exception are chance
WARM_UP = 3  # readings cut where seven remain

# A test answers for the series it knows how to read; ``early`` is the growth per generation during the warm-up.
Test = Callable[[Series, float], "Outcome | None"]


def judge(
    values: Sequence[float] | Floats,
    generations: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    after_collection: Sequence[bool] | Bools | None = None,
) -> Judgement:
    """Judge one series: does it leak?

    Args:
        values: (n,) readings taken at the same point of each generation, any unit; NaN where one is missing.
        generations: (n,) increasing ordinals, gaps allowed; ``None``: 0 to n - 1.
        after_collection: (n,) true where a full garbage collection came just before; preferred as a sawtooth's floor.

    Returns:
        The verdict, with slope, interval, begin of growth and confidence.

    Raises:
        UsageError: lengths differ, values are infinite, or generations do not increase.

    Method: docs/verdict-rates.md. The warm-up is cut, and the first of ``TESTS`` that answers decides. What falls at
    the end takes nothing back: where the readings before it leak, the series does. Smallest n: 6, below that *too
    short*; 7 for a leak. Cost: O(n) plus a few milliseconds: 0.5 ms for a counter, 2 to 4 for noise, 12 for 100,000
    readings.
    """
    series = make_series(values, generations, after_collection)
    end = ending(series)
    if end < len(series):
        before = _judge(series.until(end))
        if before.verdict == "leak":
            return dataclasses.replace(before, ending=len(series) - end)
    return _judge(series)


def _judge(series: Series) -> Judgement:
    """Judge all readings there are."""
    if len(series) < TOO_SHORT:
        return _figures(series, Outcome("too short", "flat"), 0)
    warm_up = min(WARM_UP, max(0, len(series) - 7))
    calm = without_alternation(without_spikes(series))
    outcome = _first_answer(calm.part(warm_up), early_rate(calm, warm_up))
    if warm_up and outcome.verdict in ("step", "growing"):
        outcome, warm_up = _with_warm_up(calm, outcome, warm_up)
    if outcome.verdict == "leak" and _fell_before(calm, warm_up):
        outcome = dataclasses.replace(outcome, verdict="growing", shape="sawtooth")
    return _backdated(_figures(calm.part(warm_up), outcome, warm_up), calm)


def at_rest(series: Series, early: float = 0.0) -> Outcome | None:
    """Answer for a series that moves by no more than the rounding of its numbers."""
    rounding = 8 * float(np.finfo(np.float64).eps) * max(abs(series.base), float(np.abs(series.y).max()))
    return Outcome("stable", "flat") if float(np.ptp(series.y)) <= rounding else None


def sawtooth(series: Series, early: float = 0.0) -> Outcome | None:
    """Answer for a series that is taken down again and again, by its floor."""
    return judge_cycles(series, judge_level)


def counter(series: Series, early: float = 0.0) -> Outcome | None:
    """Answer for a series that hardly ever falls: every rise is real."""
    x, y = thin(series.x, series.y)
    return judge_counter(x, y, early) if is_counter(y) else None


def noise(series: Series, early: float = 0.0) -> Outcome | None:
    """Answer for readings that scatter around a curve, which is all that is left."""
    return judge_noisy(*thin(series.x, series.y))


# In order: each test may take for granted that those before it did not answer.
TESTS: tuple[Test, ...] = (at_rest, sawtooth, counter, noise)


def _first_answer(series: Series, early: float) -> Outcome:
    return next(outcome for test in TESTS if (outcome := test(series, early)) is not None)


def judge_level(x: Floats, y: Floats) -> Outcome:
    """Judge the floor of a sawtooth, or what lies between its visits, as a series of its own."""
    x, y = thin(x, y)
    return judge_counter(x, y) if is_counter(y) else judge_noisy(x, y)


def _fell_before(calm: Series, warm_up: int) -> bool:
    """Whether a short rise may be the second cycle of a sawtooth: the warm-up held a drop of a quarter of it."""
    if not warm_up or len(calm) >= 2 * LEAST:
        return False
    fall = -float(np.diff(calm.y[: warm_up + 1]).min())
    return fall > 0.25 * float(calm.y[-1] - calm.y[warm_up])


def _with_warm_up(calm: Series, outcome: Outcome, warm_up: int) -> tuple[Outcome, int]:
    """Ask the readings that were cut, where the others are too few steps to tell.

    Steps that recur from the first reading on, alike and regular, are no warm-up. What steps once or twice after the
    cut, in a row with steps before it, is a warm-up that came to rest.
    """
    x, y = thin(calm.x, calm.y)
    if not is_counter(y):
        return outcome, warm_up
    rises = rise_indices(y)
    whole = judge_counter(x, y)
    if whole.verdict == "leak" and whole.shape == "staircase" and len(rises) < 6:
        return whole, 0
    if outcome.verdict == "step" and whole.verdict == "plateau":
        return dataclasses.replace(outcome, verdict="plateau", shape="saturating"), warm_up
    return outcome, warm_up


def _backdated(judged: Judgement, calm: Series) -> Judgement:
    """Let growth that was there at the cut begin where it does, not at the cut."""
    if judged.since is None or judged.warm_up == 0 or judged.since > calm.x[judged.warm_up]:
        return judged
    steps = np.diff(calm.y[: judged.warm_up + 1]) / np.diff(calm.x[: judged.warm_up + 1])
    other = np.flatnonzero((steps < 0.5 * judged.slope) | (steps <= 0))
    begin = int(other[-1]) + 1 if len(other) else 0
    return dataclasses.replace(judged, since=round(calm.x[begin]))


def early_rate(series: Series, warm_up: int) -> float:
    """Return the fastest growth per generation in the warm-up after its first reading, which sees what is made once."""
    if warm_up < 2:
        return 0.0
    return float(np.max(np.diff(series.y[1 : warm_up + 1]) / np.diff(series.x[1 : warm_up + 1])))


def _figures(series: Series, outcome: Outcome, warm_up: int) -> Judgement:
    """Put slope, interval and confidence to a verdict."""
    n = len(series)
    x, y = thin(series.x, series.y)
    slope = low = high = growth = 0.0
    if len(x) > 1:
        begin = 0 if outcome.begin is None else min(int(np.searchsorted(x, outcome.begin)), len(x) - 2)
        recent = _recent(len(x), begin, outcome)
        slope, low, high = outcome.slope if outcome.slope is not None else theil_sen(x[recent:], y[recent:])
        growth = _level(y[::-1]) - _level(y[begin:])
    return Judgement(
        verdict=outcome.verdict,
        slope=slope,
        slope_low=low,
        slope_high=high,
        growth=growth,
        since=_since(series, x, outcome),
        n=n,
        warm_up=warm_up,
        shape=outcome.shape,
        confidence=_confidence(outcome, n, (slope, low, high)),
    )


def _since(series: Series, x: Floats, outcome: Outcome) -> int | None:
    if outcome.since is None:
        return None
    return round(series.x[0] if outcome.since <= x[0] else outcome.since)


def _recent(n: int, begin: int, outcome: Outcome) -> int:
    """Index from which the slope is taken: the last third where it changed on the way, else the judged part."""
    changed = outcome.shape == "superlinear" or outcome.verdict == "plateau"
    return max(begin, n - max(7, n // 3)) if changed else begin


def _level(y: Floats) -> float:
    """Median of the first tenth."""
    return middle(y[: max(1, len(y) // 10)])


def _confidence(outcome: Outcome, n: int, slope: tuple[float, float, float]) -> float:
    """Rank a verdict: many readings, small p and narrow interval give 1; a rest needs readings only."""
    if outcome.verdict == "too short":
        return 0.0
    seen = 1 - math.exp(-n / 6)
    if outcome.verdict not in ("leak", "growing"):
        return seen
    width = slope[2] - slope[1]
    sharp = abs(slope[0]) / (abs(slope[0]) + width / 4) if slope[0] else 0.5
    return seen * (1 - min(outcome.p, 0.5)) * sharp
