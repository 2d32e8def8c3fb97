"""Growth of one allocator counter over a series of snapshots, and the verdict on it.

A counter read at the same place of each iteration has no noise, so a few snapshots can say more than statistics would
allow: what matters is whether every interval grew alike. Longer or rougher series go to the general judgement.

The floor. Growth counts as a leak only if, over the span that was seen, it took at least

- one segment, 2 MiB: the caching allocator takes memory from the device in pieces of that size and no smaller, so
  growth below one piece has not cost the device anything that rounding would not have cost;
- one hundredth of what was active before: a line supports no claim about a time a hundred times as long as the one
  it was seen for, and below this share even doubling lies further away than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from phaseprof.records import Verdict
from phaseprof.units import MIB
from phaseprof.verdict import judge

SEGMENT_BYTES = 2 * MIB
LEAST_SHARE = 0.01

# How much the growth per step may differ between intervals, as a share of its median. Two intervals that agree to a
# thousandth do so by construction, not by chance; with three or more a tenth is as unlikely.
_SPREAD_OF_TWO = 0.001
_SPREAD_OF_MORE = 0.1
_LEAST_TO_JUDGE = 6


@dataclass(frozen=True)
class GrowthLine:
    """One counter over the snapshots of one device.

    Attributes:
        metric: its name; names ending ``_bytes`` are bytes, others counts.
        values: (n,) one a snapshot.
        slope: growth per step, robust; ``slope_low`` and ``slope_high`` bound it (equal where every interval agrees).
        growth: last value less first.
        judged_growth: growth over the judged part only; a warm-up before it is left out.
        is_material: whether that exceeds the floor.
        verdict: one of ``phaseprof.records.VERDICTS``.
        is_exact: every judged interval grew by the same amount per step.
        judged_from: index of the first snapshot of the judged part.
        confidence: 0 to 1; a convention for ranking.
        votes: whether the verdict on the device may rest on it.
    """

    metric: str
    values: tuple[int, ...]
    slope: float
    slope_low: float
    slope_high: float
    growth: int
    judged_growth: float
    is_material: bool
    verdict: Verdict
    is_exact: bool
    judged_from: int
    confidence: float
    votes: bool


def growth_line(metric: str, values: Sequence[int], steps: Sequence[int], *, floor: float, votes: bool) -> GrowthLine:
    """Fit and judge one counter.

    Args:
        metric: its name.
        values: (n,) readings.
        steps: (n,) increasing steps.
        floor: growth of the judged part below which it is no leak, in the unit of the values; see the module's text.
        votes: whether the device's verdict may rest on it.

    Method: interval slopes where n < 6 or they agree, else ``phaseprof.verdict.judge``. Smallest n for a verdict: 3.
    """
    intervals = _interval_slopes(values, steps)
    start = _steady_from(intervals)
    judged = intervals[start or 0 :]
    slope = median(judged) if judged else 0.0
    low, high = (min(judged), max(judged)) if judged else (0.0, 0.0)
    growth = float(values[-1] - values[start or 0])
    is_material = growth >= floor
    is_exact = len(judged) > 1 and high - low <= 1e-9 * abs(slope)
    verdict, confidence = _verdict(intervals, start, is_material=is_material)
    if start is None and len(values) >= _LEAST_TO_JUDGE:
        found = judge(list(map(float, values)), list(steps))
        slope, low, high, growth = found.slope, found.slope_low, found.slope_high, found.growth
        is_material = growth >= floor
        confidence = found.confidence
        verdict = "growing" if found.verdict == "leak" and not is_material else found.verdict
        start = found.warm_up
    return GrowthLine(
        metric=metric,
        values=tuple(values),
        slope=slope,
        slope_low=low,
        slope_high=high,
        growth=values[-1] - values[0],
        judged_growth=growth,
        is_material=is_material,
        verdict=verdict,
        is_exact=is_exact,
        judged_from=start or 0,
        confidence=confidence,
        votes=votes,
    )


def floor_bytes(active_bytes: int) -> float:
    """Return the floor of this module's text for a series that began with so many active bytes."""
    return max(float(SEGMENT_BYTES), LEAST_SHARE * active_bytes)


def _interval_slopes(values: Sequence[int], steps: Sequence[int]) -> list[float]:
    return [
        (after - before) / (step - earlier)
        for (before, earlier), (after, step) in pairwise(zip(values, steps, strict=True))
    ]


def _steady_from(intervals: Sequence[float]) -> int | None:
    """Return the interval from which all grow alike: 0, or 1 where the first held the warm-up; ``None`` if neither."""
    for start in (0, 1):
        rest = intervals[start:]
        if len(rest) < 2:
            break
        allowed = _SPREAD_OF_TWO if len(rest) == 2 else _SPREAD_OF_MORE
        if max(rest) - min(rest) <= allowed * abs(median(rest)):
            return start
    return None


def _verdict(intervals: Sequence[float], start: int | None, *, is_material: bool) -> tuple[Verdict, float]:
    """Judge the intervals of a short series, or a steady one of any length."""
    if len(intervals) < 2:
        return "too short", 0.0
    if start is not None:
        slope = median(intervals[start:])
        # The more intervals agree, the less a buffer that happens to fill at an even rate explains them.
        confidence = min(0.95, 0.5 + 0.1 * (len(intervals) - start - 1))
        if slope > 0:
            return ("leak" if is_material else "growing"), confidence
        return ("plateau" if start and intervals[0] > 0 else "stable"), confidence
    if len(intervals) >= 3:
        if all(slope <= 0 for slope in intervals[-2:]):
            return "plateau", 0.6
        if _speeds_up(intervals):
            return ("leak" if is_material else "growing"), 0.6
        if sum(intervals) <= 0:
            return "stable", 0.4
    if not is_material and sum(intervals) > 0 and intervals[-1] > 0:
        return "growing", 0.4
    return "too short", 0.0


def _speeds_up(intervals: Sequence[float]) -> bool:
    return intervals[0] > 0 and all(after >= before for before, after in pairwise(intervals))
