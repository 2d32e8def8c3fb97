"""Runs side by side: what grows in each, how fast, and whether the difference is more than noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import numpy as np

from phaseprof.analysis.compare_series import Aligned, Floats, Side, align, interval_changes
from phaseprof.analysis.repairs import Repair
from phaseprof.errors import UsageError
from phaseprof.recording.reader import Run
from phaseprof.records import Verdict
from phaseprof.verdict import Judgement, judge

Word = Literal["collapsed", "lower", "unchanged", "higher", "too short"]

GROWS = ("leak", "growing", "filling")
# A slope within a tenth of another is the same for any decision; below it, words would follow the noise of one run.
SAME = 0.1
COLLAPSED = 0.1  # of the slope before
SIGNIFICANT = 0.01
# Below it a difference in bytes a generation is negligible: half of what torch allocates for one kept scalar.
TRIFLE_BYTES = 256.0
# What the system counts comes in pages, and a healthy process moves by some: less than one a generation is nothing.
PAGE_BYTES = 4096.0
_PAGED = ("rss_bytes", "anonymous_bytes", "uss_bytes", "pss_bytes", "vms_bytes", "file_and_shm_bytes")
# Parts of a run whose slopes tell how much runs of one program differ: of so many readings, so few and so many.
PART, LEAST_PARTS, MOST_PARTS = 8, 4, 30
WARM_UP = 3  # generations: what is set up in them is no part of a phase's usual change
Z_95 = 1.959964
# In this order a metric speaks for a run: live memory first, what the allocator or the system keeps only last.
_VOTES = (
    "allocated_bytes", "active_bytes", "small_pool_active_bytes", "large_pool_active_bytes", "active_blocks",
    "anonymous_bytes", "uss_bytes", "heap_bytes", "rss_bytes", "reserved_bytes",
)  # fmt: skip
# What speaks only where nothing better of the same process or device was recorded.
_BETTER = {
    "rss_bytes": ("anonymous_bytes", "uss_bytes", "heap_bytes"),
    "reserved_bytes": ("allocated_bytes", "active_bytes"),
}
_POINTS = ("generation end", "generation start")


@dataclass(frozen=True)
class Slope:
    """One series of one run over the common generations: its verdict, and slope with a 95 % interval.

    ``whole`` is the verdict on all generations of the run, which may go on where the others have ended; ``spread`` is
    the standard error of the slope as its parts tell it.
    """

    verdict: Verdict
    n: int
    slope: float
    low: float
    high: float
    growth: float
    whole: Verdict
    spread: float = 0.0

    @property
    def error(self) -> float:
        """Standard error that the interval stands for."""
        return (self.high - self.low) / (2 * Z_95)

    @property
    def is_by_parts(self) -> bool:
        """Whether parts of the run differ by more than the interval says.

        The interval of a line assumes that readings scatter by themselves. Caches, arenas and the machine make them
        wander, which shows in that one part of a run grows faster than another; two runs differ by as much.
        """
        return self.spread > self.error


@dataclass(frozen=True)
class Change:
    """How a slope differs from the first run's: a word, the difference with its 95 % interval, and p (two-sided)."""

    word: Word
    difference: float
    low: float
    high: float
    p: float
    ratio: float | None


@dataclass(frozen=True)
class Row:
    """One metric at one point (or its change within one phase) in every run; ``changes`` is against the first."""

    point: str
    metric: str
    slopes: tuple[Slope, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Comparison:
    """Runs side by side.

    Attributes:
        names: one a run, the first is what the others are held against.
        unit: what slopes are per: ``generation``, or ``step`` where all runs number their generations alike; of CUDA
            snapshots ``step``, or ``snapshot`` where their names give no steps.
        first, last: the common part.
        headline: the metric and point that speak for the runs; ``None`` if they have no series in common.
        rows: every metric at every point that all runs have.
        phases: change per generation within each phase, for the headline's metric.
        also_differ: what else differs between the runs' headers.
        notes: what a reader must know, such as ranks that were not compared.
        leaks: what became in each later run of the leaks of the first.
    """

    names: tuple[str, ...]
    unit: str
    first: float
    last: float
    headline: Row | None
    rows: tuple[Row, ...]
    phases: tuple[Row, ...]
    also_differ: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    leaks: tuple[Repair, ...] = ()

    @property
    def is_too_short(self) -> bool:
        """No series in common, or too few readings in it to say anything."""
        return self.headline is None or any(slope.verdict == "too short" for slope in self.headline.slopes)

    def is_worse(self) -> bool:
        """Tell whether a later run leaks more than the first, by a metric that may vote at the headline's point."""
        if self.headline is None:
            return False
        here = [row.metric for row in self.rows if row.point == self.headline.point]
        voting = [row for row in self.rows if row.point == self.headline.point and _may_vote(row.metric, here)]
        # Of many series that are compared one by one, some differ by chance: each must differ by more (Bonferroni).
        chance = SIGNIFICANT / max(1, len(voting))
        return any(
            change.word == "higher" and slope.verdict == "leak" and slope.whole in GROWS and change.p < chance
            for row in voting
            for change, slope in zip(row.changes, row.slopes[1:], strict=True)
        )

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as JSON-ready data, format 1."""
        return {"format": 1, **asdict(self), "too_short": self.is_too_short, "worse": self.is_worse()}


def compare(runs: Sequence[Run], names: Sequence[str], *, rank: int | None = None) -> Comparison:
    """Compare runs over the generations that all of them have.

    Args:
        runs: two or more; the first is what the others are held against.
        names: one a run.
        rank: the process of each run to compare; ``None``: the one that reports lead with.

    Raises:
        UsageError: fewer than two runs, or a rank that a run does not have.

    Method: each series is judged by ``trend.judge``; slopes are held to differ when a normal test on their intervals
    gives p below 0.01 and they differ by more than a tenth.  The error of a slope is that of its interval or, if that
    is more, what the parts of the run differ by.  Smallest n: that of the verdict.  Cost: 5 ms a series and run.
    """
    if len(runs) < 2:
        raise UsageError(f"a comparison needs two runs or more (got {len(runs)}); name another run")
    aligned = align(runs, names, rank=rank)
    rows = tuple(_row(aligned, point, metric) for point, metric in aligned.keys)
    headline = choose_headline(rows)
    phases = _phase_rows(aligned, headline) if headline else ()
    return Comparison(
        names=tuple(names), unit=aligned.unit, first=aligned.first, last=aligned.last, headline=headline, rows=rows,
        phases=phases, also_differ=aligned.also_differ, notes=aligned.notes,
    )  # fmt: skip


def _row(aligned: Aligned, point: str, metric: str) -> Row:
    slopes = tuple(_slope(side, point, metric) for side in aligned.sides)
    changes = tuple(change_of(slopes[0], slope, negligible=negligible_of(metric)) for slope in slopes[1:])
    return Row(point, metric, slopes, changes)


def _slope(side: Side, point: str, metric: str) -> Slope:
    x, y = side.series(point, metric)
    judged, unit = _judge(x, y)
    whole_x, whole_y = side.series(point, metric, whole=True)
    whole = judged if len(whole_x) == len(x) else _judge(whole_x, whole_y)[0]
    return Slope(
        judged.verdict, judged.n, judged.slope / unit, judged.slope_low / unit, judged.slope_high / unit,
        judged.growth, whole.verdict, spread_of_parts(x, y),
    )  # fmt: skip


def spread_of_parts(x: Floats, y: Floats) -> float:
    """Return the standard error of a slope as the slopes of parts of the series tell it; 0 if it is too short.

    Its first readings are warm-up and left out.
    """
    x, y = x[WARM_UP:], y[WARM_UP:]
    if len(x) <= 2 * LEAST_PARTS:
        return 0.0
    ends = np.linspace(0, len(x) - 1, _n_parts(len(x) + WARM_UP) + 1).astype(int)
    slopes = np.diff(y[ends]) / np.diff(x[ends])
    return float(np.std(slopes, ddof=1)) / math.sqrt(len(slopes))


def _n_parts(n_readings: int) -> int:
    return max(LEAST_PARTS, min(MOST_PARTS, (n_readings - WARM_UP) // PART))


def _judge(x: Floats, y: Floats) -> tuple[Judgement, float]:
    """Judge a series by position, in units of the usual distance between readings; return that unit too.

    Of readings so close together that they share a position the last one counts.
    """
    unit = max(1.0, float(np.median(np.diff(x)))) if len(x) > 1 else 1.0
    positions = np.rint(x / unit).astype(np.int64)
    is_last = np.diff(positions, append=np.iinfo(np.int64).max) > 0
    return judge(y[is_last], positions[is_last]), unit


def negligible_of(metric: str) -> float:
    """Return the difference in slope below which nobody needs to know."""
    if metric.rpartition("/")[2] in _PAGED:
        return PAGE_BYTES
    return TRIFLE_BYTES if metric.endswith("_bytes") else 0.0


def change_of(before: Slope, after: Slope, *, negligible: float = 0.0) -> Change:
    """Say how a slope changed."""
    difference = after.slope - before.slope
    error = math.hypot(before.error, after.error)
    between = math.hypot(max(before.error, before.spread), max(after.error, after.spread))
    told = [_n_parts(slope.n) - 1 for slope in (before, after) if slope.is_by_parts]
    p = _chance(abs(difference) / between, 2 * min(told, default=0)) if between > 0 else float(difference == 0)
    ratio = after.slope / before.slope if before.verdict in GROWS and before.slope > 0 else None
    word = _word(before, after, p, negligible=negligible)
    return Change(word, difference, difference - Z_95 * error, difference + Z_95 * error, p, ratio)


def _chance(t: float, freedom: int) -> float:
    """Return the two-sided p of a difference of ``t`` errors: Student's, or normal with ``freedom`` 0.

    Closed form for an even number of degrees of freedom: Abramowitz and Stegun 26.7.4.
    """
    if not freedom:
        return math.erfc(t / math.sqrt(2))
    angle = math.atan(t / math.sqrt(freedom))
    term = total = 1.0
    for k in range(1, freedom // 2):
        term *= (2 * k - 1) / (2 * k) * math.cos(angle) ** 2
        total += term
    return max(0.0, 1 - math.sin(angle) * total)


def _word(before: Slope, after: Slope, p: float, *, negligible: float) -> Word:
    if "too short" in (before.verdict, after.verdict):
        return "too short"
    grew, grows = before.verdict in GROWS, after.verdict in GROWS
    difference = after.slope - before.slope
    if p >= SIGNIFICANT or abs(difference) <= max(SAME * max(abs(before.slope), abs(after.slope)), negligible):
        return "unchanged"
    if difference < 0 and grew:
        is_gone = after.slope <= COLLAPSED * before.slope or (not grows and after.low <= 0)
        return "collapsed" if is_gone else "lower"
    if difference > 0 and grows:
        return "higher"
    return "unchanged"  # neither grows: what moves there is noise or a level that was reached


def choose_headline(rows: Sequence[Row]) -> Row | None:
    """Choose the row that speaks: the first voting metric that grows in any run, at the end of the generation."""
    points = list(dict.fromkeys(row.point for row in rows if row.point != "sample")) or ["sample"]
    chosen = next((point for point in _POINTS if point in points), points[-1])
    here = [row.metric for row in rows if row.point == chosen]
    voters = [
        row
        for row in rows
        if row.point == chosen and _rank(row.metric) is not None and not _is_outvoted(row.metric, here)
    ]
    voters.sort(key=lambda row: (_rank(row.metric), -max(slope.slope for slope in row.slopes)))
    voters = voters or [row for row in rows if row.point == chosen] or list(rows)
    growing = [
        row for row in voters if any(s.verdict in GROWS and s.slope > negligible_of(row.metric) for s in row.slopes)
    ]
    return next(iter(growing or voters), None)


def _rank(metric: str) -> int | None:
    bare = metric.rpartition("/")[2]
    return _VOTES.index(bare) if bare in _VOTES else None


def _is_outvoted(metric: str, others: Sequence[str]) -> bool:
    prefix, slash, bare = metric.rpartition("/")
    return any(f"{prefix}{slash}{better}" in others for better in _BETTER.get(bare, ()))


def _may_vote(metric: str, others: Sequence[str]) -> bool:
    bare = metric.rpartition("/")[2]
    if _rank(metric) is not None:
        return not _is_outvoted(metric, others)
    # What the collector did and how long things took is the machine's and the moment's, in two runs of one program too.
    is_timing = metric.startswith("gc/") or bare.endswith(("_s", "_seconds"))
    return not (is_timing or bare.endswith(("_bytes", "_retries", "segments", "_percent", "ooms")))


def _phase_rows(aligned: Aligned, headline: Row) -> tuple[Row, ...]:
    """Mean change per generation within each phase; where no phase was recorded, between one point and the next."""
    tables = [interval_changes(side, headline.metric) for side in aligned.sides]
    negligible = negligible_of(headline.metric)
    rows = []
    for phase in (phase for phase in tables[0] if all(phase in table for table in tables)):
        means = tuple(_mean(table[phase]) for table in tables)
        rows.append(Row(phase, headline.metric, means, tuple(_shift(means[0], mean, negligible) for mean in means[1:])))
    return tuple(rows)


def _mean(changes: Floats) -> Slope:
    """Mean of changes per generation, with the interval of a mean; (n,) in units of the metric."""
    changes = changes[WARM_UP if len(changes) > 2 * WARM_UP else 0 :]
    n = len(changes)
    if n < 2:
        return Slope("too short", n, 0.0, 0.0, 0.0, 0.0, "too short")
    mean = float(np.mean(changes))
    half = Z_95 * float(np.std(changes, ddof=1)) / math.sqrt(n)
    verdict: Verdict = "growing" if mean - half > 0 else "stable"
    return Slope(verdict, n, mean, mean - half, mean + half, float(np.sum(changes)), verdict)


def _shift(before: Slope, after: Slope, negligible: float) -> Change:
    """Say how a phase's own change moved; a phase may keep much that another frees, so nothing collapses here."""
    change = change_of(before, after, negligible=negligible)
    if "too short" in (before.verdict, after.verdict):
        return change
    is_same = change.p >= SIGNIFICANT or abs(change.difference) <= max(SAME * abs(before.slope), negligible)
    moved: Word = "higher" if change.difference > 0 else "lower"
    return replace(change, word="unchanged" if is_same else moved, ratio=None)
