"""Falling throughput: generations that take longer and longer for the same work, where, and what grows beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from phaseprof.analysis.paths import place_of_growth
from phaseprof.analysis.since import named_since
from phaseprof.analysis.symptoms import AT, Symptom
from phaseprof.recording.model import BUSY, OUTSIDE, Generation, ProcessRun
from phaseprof.recording.series import Sums
from phaseprof.records import Evidence, Finding
from phaseprof.units import rate_text
from phaseprof.verdict import Judgement, judge, theil_sen

# Loss of throughput below which nobody needs to know: a tenth.
LEAST_LOSS = 0.1
# The same where the loop waited for a processor for more than a tenth of its time: what others do to caches and cores
# comes and goes with them, and was seen to make the same work take up to 1.4 times as long.
CROWDED, LEAST_LOSS_CROWDED = 0.1, 1 / 3
# Generations that are asked for: in fewer, a fall without exception may still be the machine's doing.
LEAST = 12
# Of the time that is lost, the share that a phase must show to be named; of phases inside each other the inner one is.
SHOWN = 0.7
MOST_BESIDE = 3
# What a generation takes at least, in seconds: readings of two clocks do not fit to the microsecond.
LEAST_S = 1e-6
# Shorter generations are judged in groups that last so long, in seconds: a scheduler lets others run for some
# milliseconds, so that the time of a shorter stretch tells whether that happened and not how long the work took.
STRETCH_S = 0.01
# Series that say what a loop may have to work through: each is judged already.
_SEARCHED = ("graph_nodes", "watched/", "tracked/")
ITEMS, SECONDS = "items_per_s", "generation_seconds"
Floats = npt.NDArray[np.float64]


def find_slowdown(process: ProcessRun, symptoms: Mapping[str, Symptom], found: Sequence[Finding]) -> list[Finding]:
    """Return one finding where generations slow down steadily, by a tenth or more and not by chance.

    Method: seconds an item, or a generation where no items were said, are judged as memory is; a step is no slowdown,
    since another program may have been started beside. For the same reason time in which the loop was ready to run,
    and others had the processors, does not count; where there was much of it, only a fall by a third is told.
    Smallest n: 12 generations, or 12 stretches of 10 ms of shorter ones.
    """
    turns = [g for g in process.generations if g.seconds and not g.implied]
    least_loss = LEAST_LOSS_CROWDED if _waited_share(process, turns) > CROWDED else LEAST_LOSS
    with_items = [g for g in turns if g.items]
    metric, turns = (ITEMS, with_items) if len(with_items) >= LEAST else (SECONDS, turns)
    ordinals, times = _stretches(turns, _own_times(process, turns, metric))
    if len(times) < LEAST:
        return []
    judgement = judge(times, ordinals)
    before, after = _ends(judgement, times)
    if not _is_steady(judgement) or after <= 0 or 1 - before / after < least_loss:
        return []
    phase, beside = _slowest(process, turns), [*_collections(process, turns), *_beside(symptoms, found)]
    series = ordinals, tuple(1 / took if metric == ITEMS else took for took in times)
    advice = f"Look at what {beside[0]} is used for{f' in {phase}' if phase else ''}." if beside else _advice(phase)
    summary = _sentence(metric, (before, after), phase, beside)
    return [_finding(process, metric, judgement, series, phase=phase, summary=summary, advice=advice)]


def _stretches(turns: Sequence[Generation], times: Sequence[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Put generations that are too short to be timed into groups: the last generation of each, and their mean time."""
    typical = float(np.median([g.seconds or 0.0 for g in turns])) if turns else STRETCH_S
    n = max(1, math.ceil(STRETCH_S / max(typical, LEAST_S)))
    if n == 1:
        return tuple(turn.ordinal for turn in turns), tuple(times)
    ends = range(n, len(turns) + 1, n)
    return tuple(turns[end - 1].ordinal for end in ends), tuple(float(np.mean(times[end - n : end])) for end in ends)


def _own_times(process: ProcessRun, turns: Sequence[Generation], metric: str) -> list[float]:
    """Seconds of each generation, or for each item, without those in which its thread waited for a processor."""
    waited = process.series.get((AT, "waited_s"))
    waits = np.zeros(len(turns))
    if waited is not None and len(waited) > 1:
        ordinals = np.array([g.ordinal for g in turns], np.float64)
        so_far, before = (np.interp(at, waited.generations, waited.values) for at in (ordinals, ordinals - 1))
        waits = so_far - before
    return [
        max((g.seconds or 0.0) - wait, LEAST_S) / (g.items if metric == ITEMS and g.items else 1.0)
        for g, wait in zip(turns, waits.tolist(), strict=True)
    ]


def _waited_share(process: ProcessRun, turns: Sequence[Generation]) -> float:
    """The share of the run for which its main thread was ready to go on and waited for a processor."""
    waited = process.series.get((AT, "waited_s"))
    seconds = (turns[-1].began_ns - turns[0].began_ns) / 1e9 if turns else 0.0
    return 0.0 if waited is None or seconds <= 0 else waited.last / seconds


def _is_steady(judgement: Judgement) -> bool:
    rises = judgement.verdict in ("leak", "growing") and judgement.slope_low > 0
    return rises and judgement.shape not in ("step", "staircase", "sawtooth", "flat")


def _ends(judgement: Judgement, times: Sequence[float]) -> tuple[float, float]:
    """Seconds at the begin and at the end of the judged part: medians of its first and its last fifth."""
    judged = times[judgement.warm_up :]
    part = max(3, len(judged) // 5)
    return float(np.median(judged[:part])), float(np.median(judged[-part:]))


def _finding(
    process: ProcessRun, metric: str, judgement: Judgement, series: tuple[tuple[int, ...], tuple[float, ...]], *,
    phase: str | None, summary: str, advice: str,
) -> Finding:  # fmt: skip
    ordinals, figures = series
    x, y = np.array(ordinals[judgement.warm_up :], np.float64), np.array(figures[judgement.warm_up :])
    slope, *bounds = theil_sen(x, y)
    return Finding(
        "slowdown", "throughput", phase, None, metric=metric, slope=slope,
        slope_unit="items_per_s/generation" if metric == ITEMS else "seconds/generation",
        slope_low=min(bounds), slope_high=max(bounds), **named_since(process, judgement.since),
        confidence=judgement.confidence, summary=summary, advice=advice,
        evidence=(Evidence(AT, metric, ordinals, figures),),
    )  # fmt: skip


def _advice(phase: str | None) -> str:
    where = f" in {phase}" if phase else ""
    return f"Look for work{where} that grows with each generation, such as a list that is searched."


def _sentence(metric: str, ends: tuple[float, float], phase: str | None, beside: Sequence[str]) -> str:
    before, after = ends
    if metric == ITEMS:
        figures = f"from {rate_text(1 / before)} to {rate_text(1 / after)} items a second ({before / after - 1:.0%})"
        text = f"Throughput fell {figures}"
    else:
        text = f"Generations take longer and longer: {_time(before)}, then {_time(after)} ({after / before - 1:+.0%})"
    where = f"; the time is spent in {phase}" if phase else ""
    grows = f"; {' and '.join(beside)} {'grows' if len(beside) == 1 else 'grow'} beside it" if beside else ""
    return text + where + grows


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _slowest(process: ProcessRun, turns: Sequence[Generation]) -> str | None:
    """The innermost phase in which most of the time is lost."""
    ordinals = [g.ordinal for g in turns]
    lost = _time_lost(ordinals, np.array([g.seconds or 0.0 for g in turns]))
    table = {
        phase: (series, _time_lost(ordinals, _busy(series, ordinals)))
        for (phase, metric), series in process.charges.items()
        if metric == BUSY and phase != OUTSIDE
    }
    able = [phase for phase, (_, slope) in table.items() if lost > 0 and slope >= SHOWN * lost]
    return min(able, key=lambda phase: sum(table[phase][0].values), default=None)


def _collections(process: ProcessRun, turns: Sequence[Generation]) -> list[str]:
    """Name garbage collections where a good part of the time that is lost goes into them."""
    paused = process.series.get((AT, "gc/gc_pause_s"))
    if paused is None or len(paused) < LEAST:
        return []
    lost = _time_lost([g.ordinal for g in turns], np.array([g.seconds or 0.0 for g in turns]))
    each = np.diff(paused.values) / np.diff(paused.generations)
    rises = _time_lost(paused.generations[1:], each)
    return ["the time of garbage collections"] if rises >= (1 - SHOWN) * lost > 0 else []


def _busy(series: Sums, ordinals: Sequence[int]) -> Floats:
    of = dict(series)
    return np.array([of.get(series.slot(g), 0.0) / series.stride * 1e-9 for g in ordinals])


def _time_lost(ordinals: Sequence[int], seconds: Floats) -> float:
    return theil_sen(np.array(ordinals, np.float64), seconds)[0]


def _beside(symptoms: Mapping[str, Symptom], found: Sequence[Finding]) -> list[str]:
    """Name what grows while throughput falls: what was found, else the series that grow most for their size."""
    named = [
        place_of_growth(f.holder) or (f"{f.subject} objects" if f.kind == "objects" else f.subject) or f.kind
        for f in found
        if f.verdict in ("leak", "growing", "filling") and f.kind not in ("native", "fragmentation")
    ]
    if named:
        return list(dict.fromkeys(named))[:MOST_BESIDE]
    rising = [s for key, s in symptoms.items() if key.startswith(_SEARCHED) and s.rises and s.evidence.values]
    rising.sort(key=lambda s: -s.judgement.growth / max(1.0, abs(s.evidence.values[0])))
    return list(dict.fromkeys(s.subject if s.key != "graph_nodes" else "the autograd graph" for s in rising))[:1]
