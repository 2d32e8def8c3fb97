"""One series made ready to judge: checked, without gaps and spikes, short enough for pairwise statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phaseprof.errors import UsageError
from phaseprof.verdict.robust import Floats, median, noise_of_steps

Bools = NDArray[np.bool_]

MOST_POINTS = 240  # 29,000 pairs: about 2 ms a slope
ALTERNATES, EACH_WAY = 3.0, 4  # an alternation is so many times its scatter high, and was seen so often each way
SPIKE = 5.0  # a reading this many usual moves above both its neighbours, or below, is a spike


@dataclass(frozen=True)
class Series:
    """Readings of one point: ``x`` (n,) ordinals, ``y`` (n,) values less the first one, ``base`` the first value.

    ``collected``: (n,) whether a full garbage collection came just before the reading.
    """

    x: Floats
    y: Floats
    collected: Bools
    base: float

    def __len__(self) -> int:
        return len(self.x)

    def part(self, begin: int) -> Series:
        """Return the readings from ``begin`` on."""
        return Series(self.x[begin:], self.y[begin:], self.collected[begin:], self.base)

    def until(self, end: int) -> Series:
        """Return the readings before ``end``."""
        return Series(self.x[:end], self.y[:end], self.collected[:end], self.base)

    def only(self, chosen: Bools) -> Series:
        """Return the chosen readings; ``chosen``: (n,) bool."""
        return Series(self.x[chosen], self.y[chosen], self.collected[chosen], self.base)


def make_series(
    values: Sequence[float] | Floats,
    generations: Sequence[int] | NDArray[np.int64] | None = None,
    after_collection: Sequence[bool] | Bools | None = None,
) -> Series:
    """Check the arguments and drop readings that are missing (NaN).

    Raises:
        UsageError: lengths differ, a value is infinite, or generations do not increase.
    """
    y = np.asarray(values, dtype=np.float64).ravel()
    ordinals = np.arange(len(y)) if generations is None else np.asarray(generations)
    x = ordinals.astype(np.float64).ravel()
    flags = np.zeros(len(y), bool) if after_collection is None else np.asarray(after_collection, dtype=bool).ravel()
    if not len(x) == len(y) == len(flags):
        raise UsageError(
            f"values, generations and after_collection must have one length (got {len(y)}, {len(x)} and {len(flags)})"
        )
    if np.isinf(y).any():
        raise UsageError("values must be finite (got inf); give nan for a reading that is missing")
    if len(x) > 1 and not (np.diff(x) > 0).all():
        raise UsageError("generations must increase from reading to reading; give one reading a generation, in order")
    there = ~np.isnan(y)
    x, y, flags = x[there], y[there], flags[there]
    base = float(y[0]) if len(y) else 0.0
    return Series(x, _snapped(y - base, y), flags, base)


def _snapped(levels: Floats, values: Floats) -> Floats:
    """Put levels on a grid, a power of two, just coarser than the rounding of the values: equals become equal."""
    largest = float(np.abs(values).max()) if len(values) else 0.0
    if largest == 0:
        return levels
    grid = 2.0 ** np.ceil(np.log2(largest) - 49)
    return np.asarray(np.round(levels / grid) * grid, dtype=np.float64)


def without_spikes(series: Series) -> Series:
    """Replace one or two readings that leap out and come back by the line between their neighbours.

    A spike exceeds both neighbours by more than 5 usual moves (the median of all absolute increments; zero for a series
    that mostly stands still). Steps, sawtooth cycles and noise have no such readings. Smallest n: 5. Cost: O(n).
    """
    y = series.y
    if len(y) < 5:
        return series
    usual = SPIKE * median(np.abs(np.diff(y)))
    inside = np.zeros(len(y), bool)
    for width in (1, 2):
        before, after = y[: -width - 1], y[width + 1 :]
        first, last = y[1 : len(y) - width], y[width:-1]
        above = np.minimum(first, last) - np.maximum(before, after)
        below = np.minimum(before, after) - np.maximum(first, last)
        heights = np.maximum(above, below)
        found = np.flatnonzero(heights > usual)
        # The highest first: beside a reading that leaps down, the one before it seems to leap up.
        for begin in found[np.argsort(-heights[found], kind="stable")]:
            if not inside[begin : begin + width + 2].any():  # a spike beside a spike has no neighbour to trust
                inside[begin + 1 : begin + 1 + width] = True
    if not inside.any():
        return series
    calm = y.copy()
    calm[inside] = np.interp(series.x[inside], series.x[~inside], y[~inside])
    return Series(series.x, calm, series.collected, series.base)


def without_alternation(series: Series) -> Series:
    """Lower every second generation by what it stands higher, where levels go up and down from each to the next.

    Found between readings of neighbouring generations, and taken off all: later ones may be of every second only.
    Where at most every second or tenth is read, those are neighbours.
    Example: two buffers are used in turns. Cost: O(n).
    """
    waits, steps = np.diff(series.x), np.diff(series.y)
    unit = waits.min()
    if (waits % unit).any():
        return series
    is_odd, next_to = (series.x - series.x[0]) // unit % 2, waits == unit
    after_even, after_odd = steps[next_to & (is_odd[:-1] == 0)], steps[next_to & (is_odd[:-1] == 1)]
    if min(len(after_even), len(after_odd)) < EACH_WAY:
        return series
    (up, width), (down, other) = noise_of_steps(after_even), noise_of_steps(after_odd)
    if up * down >= 0 or min(abs(up), abs(down)) <= ALTERNATES * max(width, other):
        return series
    return Series(series.x, series.y - (up - down) / 2 * is_odd, series.collected, series.base)


def thin(x: Floats, y: Floats, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Shorten a series to at most ``most`` points: the medians of blocks of equal numbers of readings.

    Args:
        x: (n,) positions.
        y: (n,) values.
        most: points that may remain, at least 2.

    Returns:
        Two arrays of at most ``most`` points; the series itself if it is short enough. The newest readings always fill
        the last block; up to one block of the oldest is left out.

    Raises:
        UsageError: ``most`` is below 2.

    Medians keep lines, steps and plateaus what they are. Cost: O(n); 100,000 readings take about 2 ms.
    """
    if most < 2:
        raise UsageError(f"most must be at least 2 (got {most})")
    if len(x) <= most:
        return x, y
    size = -(-len(x) // most)
    blocks = len(x) // size
    kept = slice(len(x) - blocks * size, None)
    return _middles(x[kept].reshape(blocks, size)), _middles(y[kept].reshape(blocks, size))


def _middles(blocks: Floats) -> Floats:
    """Return the median of each row."""
    rising, size = np.sort(blocks, axis=1), blocks.shape[1]
    return (rising[:, (size - 1) // 2] + rising[:, size // 2]) / 2
