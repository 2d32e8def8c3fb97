"""Leaks of watched classes: counted exactly, with the phase in which instances are born and who holds them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise

from phaseprof.analysis.categories import KIND_OF_TYPE
from phaseprof.analysis.expectations import broken_expectations
from phaseprof.analysis.garbage import collects_itself
from phaseprof.analysis.limits import Horizon
from phaseprof.analysis.naming import advise, allocated_per_generation, counted_phase, summarise
from phaseprof.analysis.since import Since, first_that_grew, named_since
from phaseprof.analysis.symptoms import AT, ENOUGH, Symptom
from phaseprof.recording.model import ProcessRun
from phaseprof.records import GARBAGE, Finding, Verdict
from phaseprof.verdict.cycles import GARBAGE_GENERATIONS

WATCHED = "watched/"
# Bytes charged to an instance whose own size was not measured.
OBJECT_BYTES = 200.0


def watched_classes(
    process: ProcessRun, symptoms: Mapping[str, Symptom], horizon: Horizon, *, told: Collection[str | None] = ()
) -> list[Finding]:
    """Return a finding for each watched class whose number rises, whatever it comes to: the user asked.

    Args:
        process: the recording.
        symptoms: all of its judged series.
        horizon: when memory runs out.
        told: subjects that other findings name.
    """
    rising = [s for key, s in symptoms.items() if key.startswith(WATCHED) and s.rises and s.subject not in told]
    return [
        _finding(process, symptom, symptoms, horizon)
        for symptom in rising
        if not (_is_garbage(symptom) and collects_itself(process, symptom.judgement.since or 0))
    ]


def _is_garbage(symptom: Symptom) -> bool:
    """Whether no root reaches the instances: they wait for the collector."""
    return symptom.holder is not None and symptom.holder.root == GARBAGE


def _finding(process: ProcessRun, symptom: Symptom, symptoms: Mapping[str, Symptom], horizon: Horizon) -> Finding:
    if symptom.judgement.verdict == "too short" and _breaks_more_and_more(process, symptom):
        symptom = _since_it_broke(process, symptom)
    judgement, found, is_garbage = symptom.judgement, symptom.holder, _is_garbage(symptom)
    is_weighed = found is not None and found.retained_bytes > 0
    each = float(found.retained_bytes) if found is not None and is_weighed else OBJECT_BYTES
    # What an instance holds it may share with others: it cannot come to more than memory grew by.
    rate = max(0.0, min(judgement.slope * each, allocated_per_generation(symptoms)))
    verdict = _verdict(process, symptom, horizon, rate)
    subject = symptom.subject
    kind = GARBAGE if is_garbage else KIND_OF_TYPE.get(subject, "objects")
    holder = () if found is None or is_garbage else tuple(found.steps)
    advice = advise(kind, subject, holder)
    if found is not None and holder:
        advice = advise(kind, subject, holder, container=found.container, length=found.length)
    finding = Finding(
        verdict, kind, symptom.phase() or counted_phase(symptoms), subject, holder, metric=symptom.key,
        slope=judgement.slope, slope_unit="objects/generation", slope_low=judgement.slope_low,
        slope_high=judgement.slope_high, bytes_slope=rate if is_weighed else 0.0, **_began_by(process, symptom),
        confidence=judgement.confidence, eta_s=horizon.seconds_left(rate) if verdict == "leak" else None,
        advice=advice, evidence=(symptom.evidence,),
    )  # fmt: skip
    return replace(finding, summary=summarise(finding, rate) + _bound_text(symptom))


def _breaks_more_and_more(process: ProcessRun, symptom: Symptom) -> bool:
    """Whether a watched class went further beyond its bound at every reading.

    Where a bound was told, three readings are enough; two, where survivors were followed from birth besides.
    """
    watch = process.watches.get(symptom.named)
    values = [v for v in symptom.evidence.values if watch is not None and v > watch.high >= 0]
    enough = 2 if symptom.births is not None else 3
    return len(values) >= enough and all(b > a for a, b in pairwise(values))


def _since_it_broke(process: ProcessRun, symptom: Symptom) -> Symptom:
    """Call a watched class a leak from the first count that was out of bounds on, at the rate since then."""
    high = process.watches[symptom.named].high
    generations, values = symptom.evidence.generations, symptom.evidence.values
    broke = next(at for at, value in enumerate(values) if value > high)
    slope = (values[-1] - values[broke]) / max(1, generations[-1] - generations[broke])
    leak = replace(
        symptom.judgement, verdict="leak", slope=slope, slope_low=slope, slope_high=slope, since=generations[broke]
    )
    return replace(symptom, judgement=leak)


def _began_by(process: ProcessRun, symptom: Symptom) -> Since:
    """When growth began: by the first count that was seen out of bounds at the latest."""
    grew = first_that_grew(symptom)
    broken = [one.broken_ordinal for one in broken_expectations(process) if one.name == symptom.named]
    return named_since(process, min(broken if grew is None else [grew, *broken], default=None))


def _verdict(process: ProcessRun, symptom: Symptom, horizon: Horizon, rate: float) -> Verdict:
    if symptom.judgement.verdict != "leak":
        return symptom.judgement.verdict
    holder = symptom.holder
    if holder is not None and holder.root == GARBAGE:
        n_turns = _newest_generation(process, symptom) + 1 - (symptom.judgement.since or 0)
        return "leak" if n_turns >= GARBAGE_GENERATIONS else "growing"
    if holder is None or holder.bound <= 0 or holder.bound_length < 0:
        return "leak"
    if holder.bound_length < holder.bound:
        since, length, bound = symptom.judgement.since, holder.bound_length, holder.bound
        return "filling" if horizon.lasts_until_full(rate, since, length=length, bound=bound) else "leak"
    # Full: what grew until then grows no more, and the readings are too few to say otherwise.
    return "plateau" if len(symptom.evidence.values) < ENOUGH else "leak"


def _newest_generation(process: ProcessRun, symptom: Symptom) -> int:
    """The newest generation of the run whose counters were read; a count may be older."""
    counters = process.series.get((AT, "after_full_collection"))
    return max(symptom.evidence.generations[-1], counters.generations[-1] if counters else -1)


def _bound_text(symptom: Symptom) -> str:
    holder, rate = symptom.holder, symptom.judgement.slope
    if holder is None or holder.bound <= 0:
        return ""
    left = holder.bound - holder.bound_length
    if left <= 0:
        return f" (the container is at its bound of {holder.bound:,}: its items grow)"
    when = f", full in about {left / rate:,.0f} generations" if rate > 0 else ""
    return f" (bound {holder.bound:,}, {holder.bound_length:,} now{when})"
