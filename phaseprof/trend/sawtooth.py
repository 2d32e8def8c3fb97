"""Series with teeth: garbage piles up and is collected. Only the floor says what stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from phaseprof.trend.envelope import drops, is_toothed, lower_envelope, tooth_height
from phaseprof.trend.robust import Floats, theil_sen
from phaseprof.trend.series import Series
from phaseprof.trend.shape import Outcome

MANY = 7  # floor readings that can be judged like any series
LOW = 0.25  # of a tooth: a floor that moves less came back


def judge_teeth(series: Series, judge_level: Callable[[Floats, Floats], Outcome]) -> Outcome | None:
    """Judge a sawtooth by its floor; ``None`` where the series has no teeth.

    Args:
        series: readings with the warm-up cut.
        judge_level: judges a series without teeth; asked where the floor has seven readings or more.

    Smallest n: 3 floor readings for a leak. Cost: O(n).
    """
    troughs = drops(series.y)
    if len(troughs) == 1:
        return _one_drop(series, int(troughs[0]), judge_level)
    if not is_toothed(series.y, troughs):
        return None
    x, y = lower_envelope(series.x, series.y, series.collected)
    height = tooth_height(series.y, troughs)
    if len(x) >= MANY:
        return _as_floor(judge_level(x, y), x, y)
    return _few(x, y, height)


def _one_drop(series: Series, trough: int, judge_level: Callable[[Floats, Floats], Outcome]) -> Outcome | None:
    """One drop: back to where it began is the first tooth; a part of it is a release within other growth."""
    x, y = series.x, series.y
    height = float(y[trough - 1] - y[trough])
    rise = float(y[trough - 1] - y[:trough].min())
    if height < LOW * rise or rise < 0.5 * height:
        return None
    begin = _excursion(y, trough, height)
    if trough - begin <= max(2, len(y) // 4):
        rest = np.r_[0:begin, trough : len(y)]
        return judge_level(x[rest], y[rest])
    if float(y[trough] - y[0]) <= LOW * height:
        return Outcome("sawtooth", "sawtooth", limit=float(y[trough]))
    after = judge_level(x[trough:], y[trough:]) if len(x) - trough >= MANY else None
    if after is not None and after.verdict == "leak" and float(y[trough] - y[0]) >= 0.5 * height:
        return dataclasses.replace(after, begin=0, since=float(x[0]))
    return Outcome("growing", "sawtooth", p=0.1, since=float(x[0]))


def _excursion(y: Floats, trough: int, height: float) -> int:
    """Index of the first of the readings before the drop that stand more than half its height above where it ends."""
    low = np.flatnonzero(y[:trough] <= y[trough] + 0.5 * height)
    return int(low[-1]) + 1 if len(low) else 0


def _as_floor(outcome: Outcome, x: Floats, y: Floats) -> Outcome:
    """Put what was found on the floor in the words of a sawtooth."""
    rising = outcome.verdict in ("leak", "growing")
    return dataclasses.replace(
        outcome,
        verdict=outcome.verdict if rising else "sawtooth",
        shape="sawtooth",
        begin=0,
        since=outcome.since if rising else None,
        slope=theil_sen(x, y) if len(x) <= 240 else None,
        limit=None if rising else float(np.median(y)),
    )


def _few(x: Floats, y: Floats, height: float) -> Outcome:
    """Judge a floor of two to six readings: the fewer, the closer to a straight line its rise has to be."""
    slope = theil_sen(x, y)
    steps = np.diff(y)
    rise = float(y[-1] - y[0])
    if len(y) < 3 or rise <= 0 or steps.min() <= 0 or _bend(x, y) > _allowed(len(y)) * rise:
        moved = len(y) < 3 and rise > LOW * height
        verdict = "growing" if moved else "sawtooth"
        return Outcome(verdict, "sawtooth", since=float(x[0]) if moved else None, p=0.2, slope=slope, limit=float(np.median(y)))
    return Outcome("leak", "sawtooth", since=float(x[0]), p=0.5 ** (2 * len(steps)), slope=slope)


def _bend(x: Floats, y: Floats) -> float:
    """Largest distance from the straight line through both ends."""
    line = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    return float(np.abs(y - line).max())


def _allowed(readings: int) -> float:
    return {3: 0.05, 4: 0.2}.get(readings, 0.35)
