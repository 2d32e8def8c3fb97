"""Symptoms: every series of a recording that can show a leak, judged, with the evidence that was collected for it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import lt

import numpy as np

from phaseprof.analysis.held import grew_held
from phaseprof.analysis.intervals import nearest_phase
from phaseprof.analysis.witnesses import witnesses
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import NOT_FOUND, UNIT_BYTES, Evidence
from phaseprof.verdict import Judgement, judge

AT = "generation end"
# Device counters vote at the end of a generation; where none is declared, after each outermost phase.
DEVICE_VOTES = ("allocated_bytes", "active_blocks")
PLAIN_METRICS = (
    "graph_nodes", "malloc_in_use_bytes", "python_blocks", "descriptors", "threads",
    "children", "zombie_children", "children_grown_bytes", "children_private_bytes", "shm_bytes", "shm_segments",
    "shm_user_segments", "shm_resident_bytes", "anonymous_bytes", "rss_bytes",
)  # fmt: skip

# Share of the rise that the turns which were followed must show for it to be told by them.
SHOWN = 0.25
# What the turns that were followed came to, in rises, from which on they show something that has ended since.
FILLED = 2.0
# Readings of the later half of the time that say what it leaks by.
LATE = 3
# Within this factor two measures of growth are of the same, and of nothing beside it.
FITTING = 1.5
# Readings that can be judged by themselves.
ENOUGH = 8
# Generations followed at all their boundaries by which a counter is believed about its phase.
FOLLOWED_ENOUGH = 3
# Of the growth of resident memory, what memory in use must have grown by for the two to be one.
AS_MUCH = 0.5
# Of the readings of resident memory, those of memory in use that are enough to judge it by itself.
SELDOM = 0.5
# After this part of the run a counter must be seen to climb to be a leak: else nobody saw what it did.  Where it lost
# half of that since, it must be later: what falls in the middle of a run is no teardown.
LOOKED_AT, FELL_AT = 0.5, 0.75
# Verdicts that more readings may change.
UNDECIDED = ("growing", "too short")
# Numbers of which Python keeps one each.
SMALL_INTS = 256
# Classes whose instances are followed one by one; of all else only the level is known.
FOLLOWED = "watched/"


@dataclass(frozen=True)
class Symptom:
    """One judged series and what is known of it.

    Attributes:
        key: metric of the series; evidence is filed under it.
        judgement: the verdict on the series.
        births: survivors, or changes, by phase; ``None`` if none was made.
        holder: the holder of its survivors; ``None`` if none was looked for.
        around: for each phase of the run, the one around it.
    """

    key: str
    judgement: Judgement
    evidence: Evidence
    births: fmt.Births | None = None
    holder: fmt.Holder | None = None
    around: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> str:
        """The type or named thing, qualified where the key says more than its name."""
        return self.key.partition("/")[2] or self.key

    @property
    def subject(self) -> str:
        """The type or named thing, short."""
        return self.named.rpartition(".")[2]

    @property
    def rise(self) -> float:
        """What it rose by a generation from its first reading to its last."""
        values, generations = self.evidence.values, self.evidence.generations
        return (values[-1] - values[0]) / max(1, generations[-1] - generations[0])

    @property
    def pace(self) -> float:
        """What it leaks a generation by now: the slope, or what the later half of the time shows if that is less.

        Example: a buffer filled until the twentieth of sixty generations, and most readings are of that time.
        """
        end = len(self.evidence.values) - self.judgement.ending  # what falls at the end takes nothing back
        at, values = self.evidence.generations[:end], self.evidence.values[:end]
        late = max(0, bisect_left(at, (max(at[0], self.judgement.since or 0) + at[-1]) / 2) - 1)
        if len(at) - late < LATE:
            return self.judgement.slope
        return min(self.judgement.slope, (values[-1] - values[late]) / (at[-1] - at[late]))

    @property
    def n_rises(self) -> float:
        """The generations since its growth began in which it rose, as those that were read one by one tell.

        Example: what a phase leaves that comes every third generation rises in a third of them.
        """
        at, values = self.evidence.generations, self.evidence.values
        begin = min(bisect_left(at, self.judgement.since or 0), len(at) - 1)
        one_by_one = [n for n in range(begin + 1, len(at)) if at[n] - at[n - 1] == 1]
        rising = [n for n in one_by_one if values[n] - values[n - 1] >= self.rise / 2]
        return (at[-1] - at[begin]) * (len(rising) / len(one_by_one) if rising else 1.0)

    @property
    def rises(self) -> bool:
        """Whether the series grows with no end in sight, or was looked at closer before it could be judged."""
        if self.judgement.verdict == "too short":
            is_held = self.holder is not None and self.holder.speaks_for_most
            return self.judgement.growth > 0 and (is_held or self.births is not None)
        return self.judgement.verdict in ("leak", "growing")

    def phase(self) -> str | None:
        """The phase in which most of the survivors were born; for a counter, the one whose change fits the rise."""
        if self.births is None or not self.births.phases:
            return None
        phases = self.births.phases
        if self.key.startswith(FOLLOWED):
            return max(phases, key=lambda phase: (phases[phase][1], phases[phase][0]))
        return nearest_phase(self.changes(), self.expected_change(), self.around)

    def changes(self) -> dict[str, float]:
        """For a counter: its change a generation in each phase, over the generations that were followed."""
        if self.births is None:
            return {}
        turns = max(1, self.births.after)
        return {phase: figures[0] / turns for phase, figures in self.births.phases.items()}

    def expected_change(self) -> float:
        """What the generations that were followed came to, where that is about the rise: a leak may pause.

        Where they came to far more, something else filled up meanwhile: the phase of the leak adds what leaks now.
        What goes up and down was followed on its way up.
        """
        net = sum(self.changes().values())
        if self.judgement.shape == "sawtooth" and net > 0:
            return net
        return net if is_about(net, self.judgement.slope) else self.judgement.slope


def late_changes(process: ProcessRun, symptom: Symptom) -> dict[str, float]:
    """Return what a counter changed by a generation in each phase when it was followed last.

    Empty where that was in the earlier half of its readings, or through one generation only.
    """
    half = symptom.evidence.generations[-1] / 2
    for one in reversed(process.births):
        if one.subject == symptom.key and one.after > 1 and one.g >= half:
            return {phase: figures[0] / one.after for phase, figures in one.phases.items()}
    return {}


def is_about(change: float, rise: float) -> bool:
    """Whether a change a generation, of few generations, may be the rise of a series; of one at rest, none may."""
    return SHOWN * rise <= change <= FILLED * rise and rise > 0


def fits(change: float, rise: float) -> bool:
    """Whether what changed is what rose, and nothing beside it."""
    return rise <= FITTING * change <= FITTING**2 * rise and rise > 0


def stands_in(resident: Symptom, symptoms: Mapping[str, Symptom]) -> dict[str, float]:
    """Return the counters of memory in use that resident memory may speak for, and by how much they rose a generation.

    They missed readings and have no verdict of their own, or were read too seldom for any; and they rose as much.

    Args:
        resident: private or resident memory, read more often than they were.
        symptoms: all judged series.

    Returns:
        Counter to bytes a generation; empty where resident memory does not leak, or they rose by too little.

    Example: on a busy machine malloc was asked eleven times in fourteen generations and is *growing*, the process's
    pages leak, and both rose by 50 MB.
    """
    if resident.judgement.verdict != "leak":
        return {}
    rises = {
        key: unit * _lately(symptoms[key])
        for key, unit in UNIT_BYTES.items() if key in symptoms and misses_verdict(symptoms[key], resident)
    }  # fmt: skip
    return rises if sum(rises.values()) >= AS_MUCH * resident.judgement.slope else {}


def _lately(exact: Symptom) -> float:
    """What a counter rises by a generation: of enough readings, no more than it still does after what filled it."""
    return exact.rise if len(exact.evidence.values) < ENOUGH else min(exact.rise, exact.judgement.slope)


def misses_verdict(exact: Symptom, other: Symptom) -> bool:
    """Whether a counter missed readings that another has, so many of them that it could not be judged."""
    n, most = len(exact.evidence.values), len(other.evidence.values)
    return n < max(ENOUGH, SELDOM * most) or (n < most and exact.judgement.verdict in UNDECIDED)


def find_symptoms(process: ProcessRun, *, only: Collection[str] | None = None) -> dict[str, Symptom]:
    """Judge every series that may show a leak; those too short, flat or falling are left out but for the tracked.

    Args:
        process: the recording.
        only: the metrics that are asked for; ``None``: all.
    """
    found: dict[str, Symptom] = {}
    collected, around = _collections(process), process.around
    for key, series in voting_series(process):
        if only is not None and key not in only:
            continue
        judgement = _judge(process, key, series, collected)
        if judgement is None or (judgement.verdict in ("stable", "too short") and judgement.growth <= 0):
            continue
        evidence = Evidence(AT, key, tuple(series.generations), tuple(series.values))
        found[key] = Symptom(
            key, judgement, evidence,
            births=_births(process.births, key, judgement.slope, around), holder=_best_holder(process.holders, key),
            around=around,
        )  # fmt: skip
    return found


def voting_series(process: ProcessRun) -> Iterator[tuple[str, Series]]:
    """Yield metric and series of what may vote, each read at the end of a generation."""
    logged = witnesses(process, AT)
    for (at, metric), series in process.series.items():
        if at == AT and (_may_vote(metric) or metric in logged):
            yield metric, series


def n_votes(process: ProcessRun) -> int:
    """Readings of the longest series that can show a leak; 0 where a recording has none."""
    return max((len(series) for _, series in voting_series(process)), default=0)


def _may_vote(metric: str) -> bool:
    if metric in PLAIN_METRICS or metric.startswith(("tracked/", "watched/")):
        return True
    return metric.rpartition("/")[2] in DEVICE_VOTES


def carry_forward(series: Series, generations: list[int]) -> Series:
    """Fill a series that was written only when it changed: at every census the last value holds."""
    if series.generations == generations:
        return series
    filled = Series()
    holding = np.searchsorted(series.generations, generations, side="right").tolist()
    values = [0.0, *series.values]
    filled.extend(generations, [values[at] for at in holding])
    return filled


def _judge(process: ProcessRun, key: str, series: Series, collected: Collection[int] | None) -> Judgement | None:
    if len(series) < 2:
        return None
    generations, values = series.generations, list(series.values)
    if key == "python_blocks":
        values = without_our_readings(process, series)
    if not any(map(lt, values, values[1:])):
        return None  # what never rises is at rest: no need to ask how it falls
    after = None if collected is None else [g in collected for g in generations]
    judgement = judge(values, generations, after_collection=after)
    if judgement.verdict != "leak" or key not in PLAIN_METRICS:
        return judgement
    begin, top = climb(generations, values, judgement.since)
    part = FELL_AT if values[-1] - values[begin] < (values[top] - values[begin]) / 2 else LOOKED_AT
    is_late = generations[top] - generations[0] >= part * longest_span(process)
    return judgement if is_late else replace(judgement, verdict="growing")


def climb(generations: Sequence[int], values: Sequence[float], since: int | None) -> tuple[int, int]:
    """Return the positions of the reading at which growth began, and of the highest since."""
    begin = min(bisect_left(generations, since or 0), len(values) - 1)
    return begin, max(range(begin, len(values)), key=values.__getitem__)


def span(series: Series) -> int:
    """Generations from the first reading to the last."""
    return series.generations[-1] - series.generations[0] if len(series) else 0


def longest_span(process: ProcessRun) -> int:
    """Generations over which something was read."""
    return max(map(span, process.series.values()), default=0)


def judge_metric(process: ProcessRun, key: str) -> Judgement | None:
    """Judge one series as ``find_symptoms`` does; ``None`` where it was not read, or never rises."""
    series = process.series.get((AT, key))
    return None if series is None else _judge(process, key, series, _collections(process))


def _collections(process: ProcessRun) -> set[int] | None:
    """Generations in which a full collection may have taken what had piled up; ``None`` where nobody knows.

    Left out is what the program drops by itself, whatever a collection takes as well.  Each generation leaves one dead
    object or more, so a collection that takes fewer takes no garbage that piled up.

    Example: a trainer that is deleted, and a collection after that: what went was none of the collector's.
    """
    flags, taken = process.series.get((AT, "after_full_collection")), process.series.get((AT, "gc/gc_collected"))
    if flags is None:
        return None
    full = [g for g, flag in flags if flag]
    if taken is not None and len(taken) > 1:
        so_far = np.interp(full, taken.generations, taken.values)
        before = np.interp(np.array(full) - 1, taken.generations, taken.values)
        few = zip(full, [0, *full], so_far - before, strict=False)
        full = [g for g, newest, n in few if n >= g - newest]
    if full and full[-1] == flags.generations[-1] and grew_held(process, AT, full[-1]):
        full.pop()
    return set(full)


def without_our_readings(process: ProcessRun, series: Series) -> list[float]:
    """Take off the blocks that the recording itself holds: a number for each reading, and two past 256 generations."""
    until = np.array(series.generations, np.int64)
    own = np.zeros(len(until), np.int64)
    stretches: Counter[tuple[int, int]] = Counter()
    for one in (*process.series.values(), *process.charges.values()):
        at = one.generations
        if at and at[-1] - at[0] == len(at) - 1:  # without gaps, as most are: their ends say all
            stretches[at[0], at[-1]] += 1
        else:
            rising = np.array(at, np.int64)
            own += rising.searchsorted(until, "right") + rising[rising > SMALL_INTS].searchsorted(until, "right")
    for (first, last), n in stretches.items():
        for begin in (first, max(first, SMALL_INTS + 1)):
            own += n * np.clip(until - begin + 1, 0, max(0, last - begin + 1))
    return [value - taken for value, taken in zip(series.values, own.tolist(), strict=True)]


def _best_holder(records: Sequence[fmt.Holder], subject: str) -> fmt.Holder | None:
    """The newest record that says who holds most of those asked; where none does, the newest of all."""
    told = [record for record in records if record.subject == subject]
    good = [record for record in told if record.speaks_for_most and record.root not in NOT_FOUND]
    return next(reversed(good or told), None)


def _lies_within(births: fmt.Births, around: Mapping[str, str]) -> bool:
    """Whether most of what counters changed by is told of phases that lie in others."""
    changes = {phase: number for phase, (number, _) in births.phases.items()}
    return 2 * sum(number for phase, number in changes.items() if phase in around) >= sum(changes.values())


def _births(
    records: Sequence[fmt.Births], key: str, slope: float, around: Mapping[str, str]
) -> fmt.Births | None:
    """The newest record of a class; for a counter, the newest in which it rose as it leaks, else that in which most.

    A collection may have come between, or the visits of the phase that makes it rise were only counted, or something
    filled up beside it.  One of a few generations, as there is at the end, says less than one of as many as it takes,
    and one in which only the outermost phases were told apart less than one with those in them.
    """
    own = [record for record in records if record.subject == key]
    if not own or key.startswith(FOLLOWED):
        return own[-1] if own else None
    rises = [(sum(n for n, _ in one.phases.values()) / max(1, one.after), one) for one in own]
    rose = [pair for pair in rises if pair[0] >= SHOWN * slope]
    fitting = [pair for pair in rose if fits(pair[0], slope)] or rose
    nested = [pair for pair in fitting if _lies_within(pair[1], around)] or fitting
    whole = [pair for pair in nested if pair[1].after >= FOLLOWED_ENOUGH] or nested
    return whole[-1][1] if whole else max(rises, key=lambda pair: pair[0])[1]
