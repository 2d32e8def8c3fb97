"""What is worth a closer look: a cheap filter on series, long before any verdict."""

from __future__ import annotations

from itertools import pairwise

from phaseprof.recording.series import Series

# The first generations import, compile and allocate for good; what rises only there is not worth a look.
WARM_UP = 2
LEAST_READINGS = 3
RECENT = 12
# Readings that must still rise for there to be haste.
LATELY = 4
# Share of the growth over the recent readings that a step must come to.
STEP_SHARE = 0.02


def rise(series: Series | None) -> float:
    """Return the rise per generation of a series that looks suspicious, else 0.

    Suspicious: at its highest now, with at least two rises among its recent readings, and at most a third as many
    falls, or higher in all of the last third than in all of the first.  One step is not enough; a staircase is after
    its second step.  What is small beside the whole growth is neither a rise nor a fall.

    Example: 6, 5, 7, 6, 8, 7, 9: two children are started in every second generation, and one of them is ended.
    """
    if series is None:
        return 0.0
    recent = zip(series.generations[-RECENT:], series.values[-RECENT:], strict=True)
    pairs = [(g, v) for g, v in recent if g >= WARM_UP]
    if len(pairs) < LEAST_READINGS:
        return 0.0
    values = [v for _, v in pairs]
    grown = values[-1] - values[0]
    least_step = STEP_SHARE * grown
    steps = [b - a for a, b in pairwise(values)]
    rises, falls = sum(s > least_step for s in steps), sum(s < -least_step for s in steps)
    goes_up = falls * 3 <= rises or _has_left_its_beginning(values)
    if grown <= 0 or rises < LEAST_READINGS - 1 or not goes_up or values[-1] < max(values) - 0.25 * grown:
        return 0.0
    return grown / max(1, pairs[-1][0] - pairs[0][0])


def _has_left_its_beginning(values: list[float]) -> bool:
    third = len(values) // 3
    return third >= LEAST_READINGS - 1 and min(values[-third:]) > max(values[:third])


def rises_still(series: Series | None, least: float) -> bool:
    """Whether a series rises by more than ``least`` a generation, and its last few readings at half that rate or more.

    Args:
        series: the readings.
        least: rise a generation that is worth some haste.
    """
    rate = rise(series)
    if series is None or rate <= least:
        return False
    generations, values = series.generations[-LATELY - 1 :], series.values[-LATELY - 1 :]
    return values[-1] - values[0] >= 0.5 * rate * (generations[-1] - generations[0])
