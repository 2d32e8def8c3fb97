"""Series that hardly ever fall: counters read at one point. They have no noise, so every rise is real.

What is asked: does the growth recur, has it ended, does it die away?
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from phaseprof.verdict.judgement import Shape
from phaseprof.verdict.robust import ROUNDING, Floats, drift_test, middle, theil_sen
from phaseprof.verdict.shape import SLOWER, Outcome, halves, keeps_pace, laplace, trend_of_rate

LEAST = 7  # readings: six rises in a row have a chance of 1 in 64
FALLS = 0.01  # of the rises: what may fall before a series is no counter
STEADY = -0.7  # Laplace's statistic of a few steps; a cache that meets its last size classes lies at -1 and below
GAP = 4  # readings: nobody looked for so long that growth may have ended in between
LEAP = 10.0  # usual rises: a higher one is a leap
FEW, MOST = 1 / 3, 0.8  # of the rises that are leaps at most, and of the growth that they make up at least
PART = 0.01  # of the growth: what a rise must come to, unless it is one of many
DECAYED = 0.2  # a tail slower than this share of the early rate has to prove that it keeps its pace


def is_counter(y: Floats) -> bool:
    """Return whether what falls is at most 1 % of what rises."""
    steps = np.diff(y)
    return bool(-steps[steps < 0].sum() <= FALLS * steps[steps > 0].sum())


def judge_counter(x: Floats, y: Floats, early: float = 0.0) -> Outcome:
    """Judge a series that does not fall.

    Args:
        x: (n,) positions, warm-up already cut.
        y: (n,) values.
        early: growth per generation during the warm-up, where that is known.

    Growth has ended once the series stood still for more than twice its longest pause between rises; after one such
    pause, or the first missing rise of a series that rose by the same at every reading, it is *growing*, no leak yet.
    Smallest n: 7 for a leak, 3 for anything. Cost: O(n^2).
    """
    unit = middle(np.diff(x))
    outcome = _judge_parts((x - x[0]) / unit, np.maximum.accumulate(y), early * unit)
    since = None if outcome.since is None else float(x[0]) + outcome.since * unit
    outcome = replace(outcome, since=since, begin=float(x[0]) + (outcome.begin or 0.0) * unit)
    if outcome.slope is not None:
        slope, low, high = outcome.slope
        return replace(outcome, slope=(slope / unit, low / unit, high / unit))
    return outcome


def _judge_parts(x: Floats, y: Floats, early: float) -> Outcome:
    """Judge leaps and what rises between them apart, where leaps make up the growth.

    Example: three imports of tens of megabytes are steps, whatever few bytes come in each generation besides; where
    those leak, the slope is theirs.
    """
    moves, times = np.diff(y, prepend=y[:1]), np.maximum(1.0, np.diff(x, prepend=x[0] - 1))
    rises = np.flatnonzero(moves > ROUNDING * float(np.ptp(y)))
    if len(rises) < LEAST - 1:
        return _judge(x, y, early)
    usual = middle(moves[rises] / times[rises]) * times  # what nobody saw for ten readings rises by ten times as much
    leaps = np.where(moves > LEAP * usual, moves, 0.0)
    is_rare = 0 < np.count_nonzero(leaps) <= FEW * len(rises) and times[leaps > 0].sum() <= FEW * times.sum()
    if not is_rare or leaps.sum() < MOST * float(np.ptp(y)):
        return _judge(x, y, early)
    of_leaps = _judge(x, leaps.cumsum(), 0.0)
    if of_leaps.verdict == "leak":
        return of_leaps
    # A reading that leaped would have risen as usual, too.
    others = np.where(leaps > 0, usual, moves).cumsum()
    between = _judge(x, others, early)
    return replace(between, slope=theil_sen(x, others)) if between.verdict == "leak" else of_leaps


def _judge(x: Floats, y: Floats, early: float) -> Outcome:
    """Judge where positions count readings, so that a reading every tenth generation is judged like one in each."""
    pause_end = _after_pause(x, rise_indices(y))
    x, y = x[pause_end:], y[pause_end:]
    begin = float(x[0])
    rises = rise_indices(y)
    since = float(x[0] if len(rises) == 0 or rises[0] <= 1 else x[rises[0]])
    if len(rises) == 0:
        return Outcome("stable", "flat", begin)
    if len(rises) < 3:
        return Outcome("step", "step", begin, since, 0.5 ** len(rises))
    longest = float(_waits(x, rises).max())
    if _stood_since(x, rises[-1]) > 2 * longest or _has_nearly_ended(x, y, rises):
        return Outcome("plateau", "saturating", begin, since, 0.5 ** len(rises))
    outcome = _judge_rising(x, y, Outcome("growing", "staircase", begin, since, 0.1), early)
    if outcome.verdict == "leak" and (_is_overdue(x, y, rises, longest) or _may_have_ended_unseen(x, y)):
        return replace(outcome, verdict="growing")
    rest = _after_rest(x, y) if outcome.verdict == "leak" else 0
    return replace(outcome, begin=float(x[rest]), since=float(x[rest])) if rest else outcome


def _has_nearly_ended(x: Floats, y: Floats, rises: NDArray[np.intp]) -> bool:
    """Whether growth ended but for one or two rises that come to nothing beside it.

    Example: three imports bring 2,000 objects each by generation 20, and one object comes in the next twenty.
    """
    main = rises[y[rises] - y[rises - 1] >= PART * float(np.ptp(y))]
    if len(main) < 3 or not 1 <= np.count_nonzero(rises > main[-1]) < 3:
        return False
    return _stood_since(x, main[-1]) > 2 * float(_waits(x, main).max())


def _stood_since(x: Floats, index: int) -> float:
    """How long growth was seen to stand after a reading: one late reading is one, however long nobody looked.

    Example: a list grows in each of 54 generations that were read, and by little in the last three, of which only the
    third was: that may be the program's end.
    """
    return float(np.minimum(1.0, np.diff(x[index:])).sum())


def rise_indices(y: Floats) -> NDArray[np.intp]:
    """Return the indices of the readings that stand above the one before."""
    return np.flatnonzero(np.diff(y) > ROUNDING * float(np.ptp(y))) + 1


def _after_pause(x: Floats, rises: NDArray[np.intp]) -> int:
    """Index of the last reading before growth took up again after a pause that is unlike all others; 0 without one.

    The stand before the first rise is such a pause too.
    """
    if len(rises) < 3:
        return 0
    waits = _waits(x, rises)
    order = np.sort(waits)
    longest = int(np.argmax(waits))
    unlike = order[-1] > 3 * order[-2] + 1
    return int(rises[longest]) - 1 if unlike and longest <= len(waits) - 3 else 0


def _after_rest(x: Floats, y: Floats) -> int:
    """Index of the last reading before growth that began late, beside which what came before is nothing; 0 without it.

    Example: 2 KB come in each generation, and from the twentieth on 1 MB.
    """
    rises = rise_indices(y)
    rates = (y[rises] - y[rises - 1]) / (x[rises] - x[rises - 1])
    main = rises[rates >= PART * _rate(x, y)] if len(y) > 1 else rises
    begin = _after_pause(x, main)
    return begin if len(main) and begin == main[0] - 1 else 0


def _waits(x: Floats, rises: NDArray[np.intp]) -> Floats:
    """How long each rise was waited for, in readings: a time in which nobody looked is no stand."""
    before = np.concatenate(([x[0]], x[rises[:-1]]))
    return np.asarray(x[rises - 1] - before + np.minimum(1.0, x[rises] - x[rises - 1]))


def _is_overdue(x: Floats, y: Floats, rises: NDArray[np.intp], longest: float) -> bool:
    """Whether the next rise has not come when it should: growth may have ended, but this is not sure yet.

    Where every reading rose by the same, one that does not is enough. Else the stand must be the longest so far, and
    after 8 rises or more, so long that rises at random times would leave it in one of ten cases or fewer.
    """
    pause = _stood_since(x, rises[-1])
    if _is_clockwork(x, y, rises):
        return pause > 0
    chance = (1 - pause / float(x[-1] - x[0])) ** len(rises) if len(rises) >= 8 else 0.0
    return pause > longest and chance < 0.1


def _may_have_ended_unseen(x: Floats, y: Floats) -> bool:
    """Whether growth may have ended in a gap between readings.

    It is far slower since than for as long before, in too few readings to tell; or slower over a gap that one reading
    alone has ended.

    Example: a window rises by 240 kB in each of six generations that were read, and by 4.3 MB in 36 that were not.
    """
    gaps = np.flatnonzero(np.diff(x) > GAP)
    first = int(gaps[-1]) + 1 if len(gaps) else len(x)
    if first < 2 or not 1 <= len(x) - first < LEAST:
        return False
    gap, rises = x[first] - x[first - 1], rise_indices(y)
    lately = min(int(np.searchsorted(x, x[first - 1] - gap)), first - 2)
    before = _rate(x[lately:first], y[lately:first])
    step = float((y[rises] - y[rises - 1]).min(initial=np.inf))  # the next of a staircase may be due just now
    if first == len(x) - 1:
        least = SLOWER if _is_regular(x[:first], y[:first]) else DECAYED
        return bool(y[first] - y[first - 1] + step < least * before * gap)
    return bool(y[-1] - y[first] + step < DECAYED * before * (x[-1] - x[first]))


def _is_regular(x: Floats, y: Floats) -> bool:
    """Whether the last readings rose at about one pace, so that a slower one is no chance."""
    rates = np.diff(y[-LEAST:]) / np.diff(x[-LEAST:])
    return bool(rates.max() <= 2 * rates.min())


def _is_clockwork(x: Floats, y: Floats, rises: NDArray[np.intp]) -> bool:
    """Whether every reading rose by the same, up to the last that rose."""
    rates = np.diff(y[: rises[-1] + 1]) / np.diff(x[: rises[-1] + 1])
    return bool(rates.max() <= 1.01 * rates.min())


def _judge_rising(x: Floats, y: Floats, unsure: Outcome, early: float) -> Outcome:
    cut = _steady_from(x, y, early if _is_dense(y) else 0.0)
    if cut is None:
        return _saturating(x, y, unsure)
    tail_x, tail_y = x[cut:], y[cut:]
    pace = trend_of_rate(tail_x, tail_y)
    p = _chance(tail_x, tail_y)
    if p is None:
        return replace(unsure, begin=float(tail_x[0]))
    shape: Shape = "superlinear" if pace > 0 else "linear" if _is_dense(tail_y) else "staircase"
    return replace(unsure, verdict="leak", shape=shape, begin=float(tail_x[0]), p=p)


def _steady_from(x: Floats, y: Floats, early: float) -> int | None:
    """Index from which growth keeps its pace; ``None`` if it dies away to the end.

    Passes over a quarter of what is left at a time, down to a fifth of all or seven readings. A part will do if growth
    does not slow in it and is either no slower than a fifth of all before it, or proven not to die away.
    """
    cut = 0
    while True:
        rest_x, rest_y = x[cut:], y[cut:]
        before = max(early, _rate(x[: cut + 1], y[: cut + 1]) if cut else 0.0)
        if not _slows(rest_x, rest_y) and (
            _rate(rest_x, rest_y) >= DECAYED * before or keeps_pace(rest_x, rest_y, x[0] - 1)
        ):
            return cut
        quarter = max(1, len(rest_x) // 4)
        cut += quarter
        if len(x) - cut < max(LEAST, len(x) // 5) or len(rise_indices(y[cut:])) < 3:
            return None


def _slows(x: Floats, y: Floats) -> bool:
    """Whether growth slows. Where nearly every reading rises, less pace in the second half is enough.

    One fast reading among steady ones is a knee, which no rank test can see; it costs only readings to pass over.
    """
    knee = _is_dense(y) and len(y) >= LEAST + 2 and halves(x, y) <= SLOWER
    return knee or trend_of_rate(x, y) < 0


def _is_dense(y: Floats) -> bool:
    return len(rise_indices(y)) >= 0.8 * (len(y) - 1)


def _rate(x: Floats, y: Floats) -> float:
    return float(y[-1] - y[0]) / float(x[-1] - x[0])


def _saturating(x: Floats, y: Floats, unsure: Outcome) -> Outcome:
    """Growth that dies away: a plateau once the last third adds little, growing until then."""
    third = float(np.interp(x[-1] - (x[-1] - x[0]) / 3, x, y))
    late = float(y[-1]) - third
    whole = float(y[-1] - y[0])
    done = late < whole / 10
    return replace(unsure, verdict="plateau" if done else "growing", shape="saturating")


def _chance(x: Floats, y: Floats) -> float | None:
    """How likely rises like these are by chance, or ``None`` where they are too few or too unlike to call recurring."""
    rises = rise_indices(y)
    sizes = y[rises] - y[rises - 1]
    if len(y) < LEAST:
        return None
    if len(rises) >= 6:
        steps = np.minimum(np.diff(y), 3 * middle(sizes))
        drift = drift_test(np.concatenate(([0.0], np.cumsum(steps))))
        return max(0.5 ** len(rises), drift) if drift < 0.02 else None
    alike = sizes.max() <= 2 * sizes.min()
    gaps = np.diff(x[rises])
    regular = gaps.min() >= 2 and gaps.max() <= (1.0 if len(rises) == 3 else 1.5) * gaps.min()
    steady = len(rises) >= 5 and laplace(x, y) > STEADY
    return 0.5 ** len(rises) if alike and (regular or steady) else None
