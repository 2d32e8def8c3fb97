"""Robust slope, trend and drift tests on one series; numpy only, O(n^2) in time and memory for n readings."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from phaseprof.errors import UsageError

Floats = NDArray[np.float64]

NORMAL_95 = 1.959964
WALK_5 = (-3.41049, -4.3904, -9.036, -45.374)  # response surface of the 5 % point with trend, MacKinnon 2010
MAD_TO_SIGMA = 1.4826  # of a normal distribution
RARE = 4  # usual waits for a reading: from a longer one on, readings have grown rare
ROUNDING = 2.0**-46  # of the range: differences below it are arithmetic, not growth
MANY_VALUES = 10_000  # a threshold needs no more
_KEPT_N = 256  # pairs of so many readings, as thinned series have, are kept: 64 KiB
LARGEST_N = 4000  # 16 million pairs, 128 MB: beyond it the caller has to thin


def theil_sen(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Fit a straight line by the median of all pairwise slopes; where readings grow rare, each counts by its length.

    Example: 17 readings of 17 generations at rest, and 5 of the next 35, in which memory grows: most pairs lie in the
    rest, and most of the time does not.

    Args:
        x: (n,) strictly increasing positions.
        y: (n,) values in any unit.

    Returns:
        Slope per unit of ``x``, and the lower and upper end of its 95 % interval.

    Raises:
        UsageError: fewer than 2 or more than 4,000 points, or lengths that differ.

    Reference: Theil 1950; Sen 1968 (the interval, from the variance of Kendall's S); Jaeckel 1972 (the weights).
    Assumptions: independent noise of one distribution; up to 29 % of the points may be arbitrarily wrong. Here the
    variance of S is widened for autocorrelation as in ``mann_kendall``, so that drifting noise widens the interval.
    Smallest n: 2 give a slope, 5 an interval that means anything. Cost: O(n^2); 300 points take about 3 ms.
    """
    _check(x, y, 2)
    later = _later(len(x))
    spans = (x - x[:, None])[later]
    slopes = (y - y[:, None])[later] / spans
    if _grows_rare(x):
        return _weighted(x, y, slopes, spans)
    slopes = np.sort(slopes)
    slope = _middle(slopes)
    half = NORMAL_95 * math.sqrt(_variance_of_s(y, slope_removed=y - slope * x)) / 2
    middle = (len(slopes) - 1) / 2
    low = slopes[max(0, math.floor(middle - half))]
    high = slopes[min(len(slopes) - 1, math.ceil(middle + half))]
    return slope, float(low), float(high)


def _grows_rare(x: Floats) -> bool:
    times = np.diff(np.sort(x))
    return float(times.max()) > RARE * middle(times)


def _weighted(x: Floats, y: Floats, slopes: Floats, spans: Floats) -> tuple[float, float, float]:
    """Return the median of slopes that count by their spans, and its interval, as many pairs wide as without."""
    order = np.argsort(slopes)
    slopes, weights = slopes[order], np.cumsum(np.abs(spans[order]))

    def at(part: float) -> float:
        return float(slopes[min(int(np.searchsorted(weights, part * weights[-1])), len(slopes) - 1)])

    slope = at(0.5)
    half = NORMAL_95 * math.sqrt(_variance_of_s(y, slope_removed=y - slope * x)) / 2 / len(slopes)
    return slope, at(0.5 - half), at(0.5 + half)


def mann_kendall(y: Floats, x: Floats | None = None, *, independent: bool = False) -> tuple[float, float]:
    """Test for a monotone trend, with the variance corrected for autocorrelation.

    Args:
        y: (n,) values in order of time.
        x: (n,) increasing positions, from which the trend is taken off; ``None``: evenly spaced.
        independent: the values are known to be independent, such as a counter's increments: no correction.

    Returns:
        Kendall's tau-a from -1 to 1, and the two-sided p-value.

    Raises:
        UsageError: fewer than 2 or more than 4,000 points.

    Reference: Mann 1945, Kendall 1975; variance inflated as in Hamed & Rao 1998. Their sample autocorrelations of 10 to
    30 readings miss persistence, so those of an AR(1) process stand in; its coefficient is the lag-1 correlation of the
    detrended values plus its small-sample bias (Marriott & Pope 1954).
    Assumptions: noise no more persistent than AR(1); not for random walks, see ``dickey_fuller`` and ``drift_test``.
    Smallest n: 4 can reach p = 0.09, 6 can reach 0.01.
    """
    y = np.asarray(y, dtype=np.float64)
    x = _positions(y, x)
    _check(x, y, 2)
    s = float(np.sum(np.sign(y - y[:, None])[_later(len(y))]))
    if s == 0:
        return 0.0, 1.0
    trend = y if independent else middle(_lag_slopes(x, y)) * x
    variance = _variance_of_s(y, slope_removed=y - trend)
    z = (abs(s) - 1) / math.sqrt(variance)
    return s / (len(y) * (len(y) - 1) / 2), math.erfc(z / math.sqrt(2))


def drift_test(y: Floats, x: Floats | None = None) -> float:
    """Return the one-sided p-value that the mean increment is above zero.

    Args:
        y: (n,) values in order of time.
        x: (n,) increasing positions; ``None``: evenly spaced.

    Reference: Student's t on the increments, each over the root of the time that it took, as the increments of a walk
    spread; its tail by Wallace 1959 (within 0.02 standard deviations).
    Assumptions: increments independent, which holds for counters and random walks; for noise that does not add up it
    is far too careful, and ``mann_kendall`` sees more. Smallest n: 3; fewer give 1.0.
    """
    steps = np.diff(y)
    if len(steps) < 2:
        return 1.0
    times = np.diff(_positions(y, x))
    mean, freedom = float(steps.sum() / times.sum()), len(steps) - 1
    spread = math.sqrt(float(np.sum((steps - mean * times) ** 2 / times)) / freedom)
    if spread <= 1e-12 * abs(mean):
        return 0.5 ** len(steps) if mean > 0 else 1.0
    t = mean / spread * math.sqrt(float(times.sum()))
    z = math.sqrt(freedom * math.log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
    upper = math.erfc(z / math.sqrt(2)) / 2
    return upper if t > 0 else 1 - upper


def may_be_walk(y: Floats, x: Floats | None = None) -> bool:
    """Return whether a random walk, with or without drift, cannot be refused at 5 %; arguments: see ``dickey_fuller``.

    Reference: Dickey & Fuller 1979, critical values by MacKinnon 2010. Smallest n: 7; fewer may always be one.
    """
    n = len(y)
    return dickey_fuller(y, x) >= sum(c / float(n) ** power for power, c in enumerate(WALK_5))


def dickey_fuller(y: Floats, x: Floats | None = None) -> float:
    """Return the Dickey-Fuller statistic of a series less its straight line: the lower, the less like a random walk.

    Args:
        y: (n,) values in order of time.
        x: (n,) increasing positions, over which the line runs; ``None``: evenly spaced.

    An exact line gives minus infinity.

    Reference: Dickey & Fuller 1979, the case with constant and trend, no lags. Assumptions: increments of the walk are
    independent. Smallest n: 7; fewer give 0. Cost: O(n).
    """
    n = len(y)
    if n < 7:
        return 0.0
    positions = _positions(y, x)
    line = np.column_stack([np.ones(n), positions])
    rest = y - line @ np.linalg.lstsq(line, y, rcond=None)[0]
    root = np.sqrt(np.diff(positions))
    before, moves = rest[:-1] / root, np.diff(rest) / root  # the longer a step, the further a walk strays
    power = float(before @ before)
    if power <= n * (1e-9 * float(np.ptp(y))) ** 2:
        return float("-inf")
    pull = float(before @ moves) / power
    error = float(np.sum((moves - pull * before) ** 2)) / (n - 3)
    return pull / math.sqrt(error / power) if error > 0 else float("-inf")


def persistence(residuals: Floats) -> float:
    """Return the lag-1 correlation of detrended values, corrected for its bias in short series; 0 to 0.98.

    Reference: Marriott & Pope 1954. Assumptions: a line was removed. Smallest n: 5; fewer, or no noise at all, give 0.
    """
    n = len(residuals)
    centred = residuals - residuals.mean()
    power = float(centred @ centred)
    if n < 5 or power <= 0:
        return 0.0
    rho = float(centred[1:] @ centred[:-1]) / power
    rho += (2 + 4 * rho) / n
    return min(max(rho, 0.0), 0.98)


def noise_of_steps(steps: Floats) -> tuple[float, float]:
    """Return median and robust standard deviation of increments; the second is zero for lines, stairs and constants.

    Args:
        steps: (n,) increments, at least one.

    Method: median absolute deviation. Smallest n: 3.
    """
    usual = median(steps)
    return usual, MAD_TO_SIGMA * median(np.abs(steps - usual))


def median(values: Floats) -> float:
    """Return the median; of more than 10,000 values that of 10,000 drawn with a fixed seed, good to a percent."""
    if len(values) > MANY_VALUES:
        values = values[np.random.default_rng(0).integers(0, len(values), MANY_VALUES)]
    return middle(values)


def middle(values: Floats) -> float:
    """Return the exact median, NaN of none or with a NaN among them.

    Cost: 5 µs for 300 values; NumPy's own takes 25 µs, since it is made for arrays of any shape.
    """
    return _middle(np.sort(values))


def _middle(rising: Floats) -> float:
    n = len(rising)
    if not n or math.isnan(rising[-1]):  # they are sorted to the end
        return math.nan
    half = n // 2
    return float(rising[half]) if n % 2 else (float(rising[half - 1]) + float(rising[half])) / 2


def _later(n: int) -> NDArray[np.bool_]:
    """Return (n, n) flags: whether the second is later than the first."""
    return _kept_later(n) if n <= _KEPT_N else ~np.tri(n, dtype=np.bool_)


@functools.lru_cache(maxsize=8)
def _kept_later(n: int) -> NDArray[np.bool_]:
    return ~np.tri(n, dtype=np.bool_)


def _check(x: Floats, y: Floats, least: int) -> None:
    if len(x) != len(y) or not least <= len(y) <= LARGEST_N:
        raise UsageError(
            f"x and y must have one length from {least} to {LARGEST_N} (got {len(x)} and {len(y)}); thin longer series"
        )


def _positions(y: Floats, x: Floats | None) -> Floats:
    return np.arange(len(y), dtype=np.float64) if x is None else x


def _lag_slopes(x: Floats, y: Floats) -> Floats:
    """Slopes over about half the series: enough to detrend, at O(n)."""
    lag = max(1, len(y) // 2)
    return np.asarray((y[lag:] - y[:-lag]) / (x[lag:] - x[:-lag]), dtype=np.float64)


def _variance_of_s(y: Floats, slope_removed: Floats) -> float:
    """Variance of Kendall's S under no trend: ties taken out, autocorrelation put in; at least 1."""
    n = len(y)
    _, ties = np.unique(y, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float(np.sum(ties * (ties - 1) * (2 * ties + 5)))) / 18
    scale = float(np.ptp(y)) * 1e-9
    noise = slope_removed if float(np.ptp(slope_removed)) > scale else np.zeros(n)
    rho = persistence(noise)
    if rho > 0 and n > 3:
        lags = np.arange(1, n, dtype=np.float64)
        weights = (n - lags) * (n - lags - 1) * (n - lags - 2)
        inflation = float(np.sum(weights * _rank_correlation(rho**lags)))
        variance *= 1 + 2 / (n * (n - 1) * (n - 2)) * inflation
    return max(variance, 1.0)


def _rank_correlation(rho: Floats) -> Floats:
    """Rank correlation of normal values that correlate by ``rho`` (Kendall 1955)."""
    return np.asarray(6 / np.pi * np.arcsin(rho / 2), dtype=np.float64)
