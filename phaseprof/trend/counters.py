"""Series that hardly ever fall: counters read at one point. They have no noise, so every rise is real.

What is asked: does the growth recur, has it ended, does it die away?
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phaseprof.trend.robust import Floats, drift_test
from phaseprof.trend.shape import SLOWER, Outcome, halves, keeps_pace, laplace, trend_of_rate

LEAST = 7  # readings: six rises in a row have a chance of 1 in 64
FALLS = 0.01  # of the rises: what may fall before a series is no counter
DECAYED = 0.2  # a tail slower than this share of the early rate has to prove that it keeps its pace


def is_counter(y: Floats) -> bool:
    """Return whether what falls is at most 1 % of what rises."""
    steps = np.diff(y)
    return bool(-steps[steps < 0].sum() <= FALLS * steps[steps > 0].sum())


def judge_counter(x: Floats, y: Floats) -> Outcome:
    """Judge a series that does not fall.

    Args:
        x: (n,) positions, warm-up already cut.
        y: (n,) values.

    Smallest n: 7 for a leak, 3 for anything. Cost: O(n^2).
    """
    y = np.maximum.accumulate(y)
    begin = _after_pause(x, rise_indices(y))
    x, y = x[begin:], y[begin:]
    rises = rise_indices(y)
    since = float(x[0] if len(rises) == 0 or rises[0] <= 1 else x[rises[0]])
    if len(rises) == 0:
        return Outcome("stable", "flat", begin, limit=float(y[-1]))
    if len(rises) < 3:
        return Outcome("step", "step", begin, since, 0.5 ** len(rises), float(y[-1]))
    if _ended(x, rises):
        return Outcome("plateau", "saturating", begin, since, 0.5 ** len(rises), float(y[-1]))
    return _judge_rising(x, y, begin, since)


def rise_indices(y: Floats) -> NDArray[np.intp]:
    """Return the indices of the readings that stand above the one before."""
    return np.flatnonzero(np.diff(y) > 1e-9 * float(np.ptp(y))) + 1


def _after_pause(x: Floats, rises: NDArray[np.intp]) -> int:
    """Index of the last reading before growth took up again after a pause that is unlike all others; 0 without one.

    The stand before the first rise is such a pause too.
    """
    if len(rises) < 3:
        return 0
    gaps = np.diff(np.concatenate(([x[0]], x[rises])))
    order = np.sort(gaps)
    longest = int(np.argmax(gaps))
    unlike = order[-1] > 3 * order[-2] + 1
    return int(rises[longest]) - 1 if unlike and longest <= len(gaps) - 3 else 0


def _ended(x: Floats, rises: NDArray[np.intp]) -> bool:
    """Whether the series has stood still for more than twice its longest pause between rises."""
    pauses = np.diff(np.concatenate(([x[0]], x[rises])))
    return bool(x[-1] - x[rises[-1]] > 2 * pauses.max())


def _judge_rising(x: Floats, y: Floats, begin: int, since: float) -> Outcome:
    cut = _fast_start(x, y)
    tail_x, tail_y = x[cut:], y[cut:]
    pace = trend_of_rate(tail_x, tail_y)
    decayed = cut > 0 and _rate(tail_x, tail_y) < DECAYED * _rate(x[: cut + 1], y[: cut + 1])
    if pace < 0 or (decayed and not keeps_pace(tail_x, tail_y, x[0] - 1)):
        return _saturating(x, y, begin, since)
    p = _chance(tail_x, tail_y)
    if p is None:
        return Outcome("growing", "staircase", begin + cut, since, 0.1)
    if pace > 0:
        return Outcome("leak", "superlinear", begin + cut, since, p)
    return Outcome("leak", "linear" if _is_dense(tail_y) else "staircase", begin + cut, since, p)


def _fast_start(x: Floats, y: Floats) -> int:
    """Readings to pass over at the begin because growth was faster then than it is since.

    A quarter at a time, while growth slows and seven readings remain. Where nearly every reading rises a halved pace is
    enough, since one fast reading among steady ones is a knee that no rank test can see.
    """
    cut = 0
    while True:
        rest_x, rest_y = x[cut:], y[cut:]
        slows = trend_of_rate(rest_x, rest_y) < 0 or (_is_dense(rest_y) and halves(rest_x, rest_y) <= SLOWER)
        quarter = max(1, len(rest_x) // 4)
        if not slows or len(rest_x) - quarter < LEAST:
            return cut
        cut += quarter


def _is_dense(y: Floats) -> bool:
    return len(rise_indices(y)) >= 0.8 * (len(y) - 1)


def _rate(x: Floats, y: Floats) -> float:
    return float(y[-1] - y[0]) / float(x[-1] - x[0])


def _saturating(x: Floats, y: Floats, begin: int, since: float) -> Outcome:
    """Growth that dies away: a plateau once the last third adds little, growing until then."""
    third = float(np.interp(x[-1] - (x[-1] - x[0]) / 3, x, y))
    late = float(y[-1]) - third
    whole = float(y[-1] - y[0])
    done = late < whole / 10
    limit = float(y[-1]) if done else _extrapolate(x, y)
    return Outcome("plateau" if done else "growing", "saturating", begin, since, 0.05, limit)


def _extrapolate(x: Floats, y: Floats) -> float | None:
    """Limit of an exponential approach through three equidistant levels (Aitken's delta-squared); ``None`` if none."""
    a, b, c = np.interp(np.linspace(x[0], x[-1], 3), x, y)
    bend = (c - b) - (b - a)
    return float(c - (c - b) ** 2 / bend) if bend < 0 else None


def _chance(x: Floats, y: Floats) -> float | None:
    """How likely rises like these are by chance, or ``None`` where they are too few or too unlike to call recurring."""
    rises = rise_indices(y)
    sizes = y[rises] - y[rises - 1]
    if len(y) < LEAST:
        return None
    if len(rises) >= 6:
        steps = np.minimum(np.diff(y), 3 * float(np.median(sizes)))
        drift = drift_test(np.concatenate(([0.0], np.cumsum(steps))))
        return max(0.5 ** len(rises), drift) if drift < 0.02 else None
    alike = sizes.max() <= 2 * sizes.min()
    gaps = np.diff(x[rises])
    regular = len(rises) >= 3 and gaps.min() >= 2 and gaps.max() <= 1.5 * gaps.min()
    steady = len(rises) >= 5 and laplace(x, y) > -1.3
    return 0.5 ** len(rises) if alike and (regular or steady) else None
