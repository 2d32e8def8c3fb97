"""The end of a series: what falls in the last readings takes back nothing that those before them showed."""

from __future__ import annotations

import numpy as np

from phaseprof.verdict.counters import FALLS, is_counter
from phaseprof.verdict.envelope import DROP, cycle_height, drops
from phaseprof.verdict.robust import ROUNDING, Floats, noise_of_steps
from phaseprof.verdict.series import Series

SHARE = 10  # an ending is at most one reading in ten, what a program does last
LONGEST = 0.25  # of the generations: in more time between two readings, a new cycle may have begun
SHORTEST = 12  # readings: in fewer, a rise and a fall may be the first cycle of a sawtooth
LEAST = 2  # readings that may always be one: with fewer than three lows, nothing tells a stray one from a new level
ALIKE = 0.5  # of the fall: earlier drops at least as high make it one sawtooth cycle of many
REGROWTH = 0.5  # of the earlier pace: what grows again after the fall is no ending


def ending(series: Series) -> int:
    """Return the index at which the ending begins: the number of readings where there is none.

    An ending is a fall within the last readings, out of the noise, after which nothing grows again, unlike any drop
    before it: a teardown, one stray low reading.  Where one of its falls comes after a full garbage collection it is no
    ending: that says what was garbage.  Nor is it one where more than a quarter of the generations come after
    the reading before it.

    Example: 0 to 19, then 4: the last reading is the ending.  A sawtooth's newest cycle is none.

    Smallest n: 12.  Cost: O(n).
    """
    y, n = series.y, len(series)
    if n < SHORTEST:
        return n
    latest = n - max(LEAST, -(-n // SHARE))
    least = -_noise(y, latest)
    late = np.flatnonzero(np.diff(y[latest - 1 :]) < least) + latest
    if len(late) == 0:
        return n
    begin = int(late[0])
    if series.x[-1] - series.x[begin - 1] > LONGEST * (series.x[-1] - series.x[0]):
        return n
    is_end = _stays_down(y, begin) and not series.collected[late].any() and not _is_usual(y, begin)
    return begin if is_end else n


def _noise(y: Floats, latest: int) -> float:
    """How far readings fall by chance, judged by those before ``latest``: a counter's hardly ever do."""
    steps = np.diff(y)
    rounding = ROUNDING * float(np.ptp(y))
    if is_counter(y[:latest]):
        return max(rounding, FALLS * float(steps[steps > 0].sum()))
    usual, width = noise_of_steps(steps)
    return max(rounding, DROP * width - usual)


def _stays_down(y: Floats, begin: int) -> bool:
    """Whether all readings from ``begin`` on lie below the one before it, and do not grow as those before did."""
    tail = y[begin:]
    low = int(np.argmin(tail))
    pace = float(y[begin - 1] - y[0]) / (begin - 1)
    regrown = float(tail[-1] - tail[low])
    return bool(tail.max() < y[begin - 1]) and regrown <= REGROWTH * max(0.0, pace) * (len(tail) - 1 - low)


def _is_usual(y: Floats, begin: int) -> bool:
    """Whether drops of like height came before: then it is a sawtooth's."""
    before = y[:begin]
    return cycle_height(before, drops(before)) >= ALIKE * float(y[begin - 1] - y[begin:].min())
