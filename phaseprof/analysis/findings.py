"""From one process's recording to its findings, ranked by what ends the run first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import lt

from phaseprof.analysis.causes import CONTAINERS, KIND_OF_TYPE, Cause, join, normalised
from phaseprof.analysis.certainty import with_certainty
from phaseprof.analysis.clock import by_the_clock
from phaseprof.analysis.counters import counter_causes, explained_memory, is_explained
from phaseprof.analysis.expectations import broken_expectations, expectation_finding
from phaseprof.analysis.garbage import is_sawtooth
from phaseprof.analysis.limits import FELT_BYTES, OWN_BYTES, Horizon
from phaseprof.analysis.made import with_sites
from phaseprof.analysis.naming import (
    ALLOCATED,
    ITEM_BYTES,
    PLAIN_ITEMS,
    advise,
    allocated_per_generation,
    bytes_per_generation,
    counted_phase,
    is_weighed,
    main_symptom,
    name_kind,
    name_phase,
    summarise,
)  # fmt: skip
from phaseprof.analysis.on_devices import with_tensors
from phaseprof.analysis.placed import as_log, measured_looks, shares
from phaseprof.analysis.since import Since, first_that_grew, named_since, since
from phaseprof.analysis.symptoms import AT, ENOUGH, Symptom, find_symptoms
from phaseprof.analysis.throughput import find_slowdown
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding, Verdict
from phaseprof.units import MB
from phaseprof.verdict.cycles import GARBAGE_GENERATIONS

MOST_FINDINGS = 10
# Two measures of one growth are as near; and two growths come to so much more than memory grew by if they are one.
AS_MUCH_LEAST, ALL_THERE_IS = 0.8, 1.5


def find_leaks(
    process: ProcessRun, *, leak_threshold_mb: float = 5.0, least_bytes: float | None = None
) -> tuple[Finding, ...]:
    """Judge a recording.

    Args:
        process: one process's recording, folded.
        leak_threshold_mb: a tracked name that grows faster, in MB a generation, is a finding of its own.
        least_bytes: slower growth, in bytes a generation, is negligible; 0 reports every growth, however small;
            ``None``: what nobody would feel, by the hour or so far, is.

    Returns:
        Findings, leaks first, each cause once.  Empty for a healthy run.
    """
    symptoms = find_symptoms(process)
    horizon = Horizon(process)
    explained = explained_memory(process, symptoms, horizon)
    causes = join({key: s for key, s in symptoms.items() if _is_followed(s)})
    if explained:  # places say what memory grew by: what the user watches, and a device's tensors, add to that
        told = {finding.subject for finding in explained}
        asked = process.watches.keys() - told
        causes = [cause for cause in causes if cause.subjects() & asked or _is_on_device(cause)]
    found: list[Finding] = []
    negligible: list[Finding] = []
    logs: list[Finding] = []
    for cause in causes:
        if not is_sawtooth(process, cause):
            finding = _finding(process, cause, symptoms, horizon, least_bytes)
            kept = negligible if _is_negligible(process, cause, symptoms, horizon, least_bytes) else found
            kept.append(finding)
            if least_bytes is None and _is_lasting_log(cause, finding, symptoms, horizon):
                logs.append(finding)  # it accounts for memory that grows, and is no news
    leaks = [f for f in found if f.verdict == "leak"]
    counted = counter_causes(process, symptoms, found, horizon, negligible=negligible, explained=explained)
    leaks = [f for f in leaks if not is_explained(f, counted)]
    counted = [f for f in counted if not any(_is_made_of(f, leak, process) for leak in leaks)]
    if any(f.verdict == "leak" for f in (*leaks, *counted)):
        counted = [f for f in counted if f.verdict != "plateau"]  # what has levelled off is no news beside a leak
    rest = [f for f in found if f.verdict == "filling" or (f.verdict != "leak" and not leaks)]
    rest = [f for f in rest if not is_explained(f, counted) and f not in logs]
    if any(f.verdict == "leak" for f in (*leaks, *counted)):  # who looks for what fills memory is told of logs as well
        rest += [as_log(f) for f in logs if not is_explained(f, counted)]
    tracked = [] if leaks else _told_once(_tracked(process, symptoms, leak_threshold_mb, horizon), counted, symptoms)
    named = {finding.subject for finding in [*leaks, *counted]}
    broken = [expectation_finding(process, one) for one in broken_expectations(process) if one.name not in named]
    every = [*counted, *leaks, *broken, *tracked, *rest]
    every += find_slowdown(process, symptoms, every)
    ranked = sorted(_without_doubles(every), key=_rank)[:MOST_FINDINGS]
    known = (with_tensors(process, with_sites(process, with_certainty(process, finding))) for finding in ranked)
    return by_the_clock(process, tuple(known))


def _is_followed(symptom: Symptom) -> bool:
    if symptom.key.startswith("untracked/"):  # of others a container tells, or the counters of the allocators
        return symptom.is_held
    return symptom.key.startswith(("count/", "watched/", "storages/", "container/", "arrays_bytes", "graph_"))


def _is_on_device(cause: Cause) -> bool:
    """Whether tensors on a device grow, which take none of the host's memory."""
    return any(s.key.startswith("storages/") and not s.key.startswith("storages/cpu") for s in cause.symptoms.values())


def _steady_types(process: ProcessRun) -> frozenset[str]:
    """Short names of types that two censuses or more found to be as many."""
    if len(process.series.get((AT, "n_objects"), ())) < 2:
        return frozenset()
    return frozenset(key.rpartition(".")[2] for at, key in process.first_counts if at == AT)


def _finding(
    process: ProcessRun,
    cause: Cause,
    symptoms: Mapping[str, Symptom],
    horizon: Horizon,
    least_bytes: float | None,
) -> Finding:
    kind, subject = name_kind(cause, _steady_types(process))
    main = main_symptom(cause, kind, subject)
    rate = _rate_of(process, cause, allocated_per_generation(symptoms))
    if main.judgement.verdict == "too short" and _breaks_more_and_more(process, main):
        main = _since_it_broke(process, main)
    verdict = _verdict(process, cause, main)
    watched = subject in process.watches
    felt = horizon.is_felt(rate, main.judgement.since, least=_least_so_far(process, cause))
    is_felt = felt if least_bytes is None else rate >= least_bytes
    if verdict == "leak" and not watched and not is_felt:
        verdict = "growing"
    holder = tuple(cause.holder.steps) if cause.holder is not None and not cause.is_garbage else ()
    judgement = main.judgement
    phase = name_phase(cause, main) or counted_phase(symptoms)
    finding = Finding(
        verdict=verdict, kind=kind, phase=phase, subject=subject, holder=holder, metric=main.key,
        slope=judgement.slope, slope_unit=unit_of(main.key), slope_low=judgement.slope_low,
        slope_high=judgement.slope_high, bytes_slope=rate if is_weighed(cause) else 0.0,
        **_began_by(process, main), confidence=judgement.confidence,
        eta_s=horizon.seconds_left(rate) if verdict in ("leak", "growing") else None,
        advice=_advice(cause, kind, subject, holder),
        evidence=tuple(s.evidence for s in _most_telling(cause, main)),
    )  # fmt: skip
    if verdict == "leak" and least_bytes is None and _is_lasting_log(cause, finding, symptoms, horizon):
        finding = replace(finding, verdict="growing")
    return replace(finding, summary=summarise(finding, rate) + _bound_text(cause))


def _rate_of(process: ProcessRun, cause: Cause, most: float) -> float:
    """Bytes a generation: an estimate of which no more is believed than memory grew by, or at least what was seen."""
    return max(bytes_per_generation(cause, most), _came(process, cause), _own_objects(process, cause) * ITEM_BYTES)


def _came(process: ProcessRun, cause: Cause) -> float:
    """Bytes a generation that objects of a cause's types brought between two looks by place; 0 where none saw it."""
    types = {s.named for s in cause.of_kind("count/")}
    looks = [[share for share in shares(told) if share.type_name in types] for told in measured_looks(process)]
    return max((sum(share.bytes_slope for share in came) for came in looks), default=0.0)


def _advice(cause: Cause, kind: str, subject: str | None, holder: tuple[str, ...]) -> str:
    """What to do, at the container that grows if it is on the path."""
    found = cause.holder
    if found is None or not holder:
        return advise(kind, subject, holder)
    return advise(kind, subject, holder, container=found.container, length=found.length)


def _is_lasting_log(cause: Cause, finding: Finding, symptoms: Mapping[str, Symptom], horizon: Horizon) -> bool:
    """Whether it is a list of numbers or text, or of lists of such, that grows by no more than trainings keep."""
    is_plain = cause.item in PLAIN_ITEMS or cause.item in CONTAINERS
    is_log = is_plain and finding.kind == "container" and finding.bytes_slope > 0
    grown = allocated_per_generation(symptoms)
    beside = grown if math.isfinite(grown) else 0.0
    main = cause.symptoms[finding.metric]
    return is_log and not horizon.is_log_felt(finding.bytes_slope, main.judgement.since, beside=beside)


def _breaks_more_and_more(process: ProcessRun, symptom: Symptom) -> bool:
    """Whether a watched class went further beyond its bound at every reading.

    Where a bound was told, three readings are enough; two, where survivors were followed from birth besides.
    """
    watch = process.watches.get(symptom.key.removeprefix("watched/"))
    values = [v for v in symptom.evidence.values if watch is not None and v > watch.high >= 0]
    enough = 2 if symptom.births is not None else 3
    return len(values) >= enough and all(b > a for a, b in pairwise(values))


def _since_it_broke(process: ProcessRun, symptom: Symptom) -> Symptom:
    """Call a watched class a leak from the first count that was out of bounds on, at the rate since then."""
    high = process.watches[symptom.key.removeprefix("watched/")].high
    generations, values = symptom.evidence.generations, symptom.evidence.values
    broke = next(at for at, value in enumerate(values) if value > high)
    slope = (values[-1] - values[broke]) / max(1, generations[-1] - generations[broke])
    leak = replace(
        symptom.judgement, verdict="leak", slope=slope, slope_low=slope, slope_high=slope, since=generations[broke]
    )
    return replace(symptom, judgement=leak)


def _began_by(process: ProcessRun, symptom: Symptom) -> Since:
    """When growth began: of a watched class, by the first count that was seen out of bounds at the latest."""
    grew = first_that_grew(symptom)
    name = symptom.key.removeprefix("watched/")
    broken = [one.broken_ordinal for one in broken_expectations(process) if one.name == name]
    return named_since(process, min(broken if grew is None else [grew, *broken], default=None))


def _verdict(process: ProcessRun, cause: Cause, main: Symptom) -> Verdict:
    if main.judgement.verdict != "leak":
        return main.judgement.verdict
    if cause.is_garbage:
        n_turns = _newest_generation(process, main) + 1 - _began(cause, main)
        return "leak" if n_turns >= GARBAGE_GENERATIONS else "growing"
    holder = cause.holder
    if holder is None or holder.bound <= 0 or holder.bound_length < 0:
        return "leak"
    if holder.bound_length < holder.bound:
        return "filling"
    # Full: what grew until then grows no more, and the readings are too few to say otherwise.
    return "plateau" if len(main.evidence.values) < ENOUGH else "leak"


def _newest_generation(process: ProcessRun, main: Symptom) -> int:
    """The newest generation of the run whose counters were read; a census may be older."""
    counters = process.series.get((AT, "after_full_collection"))
    return max(main.evidence.generations[-1], counters.generations[-1] if counters else -1)


def _began(cause: Cause, main: Symptom) -> int:
    """The generation since which dead cycles pile up; what our own collection took in between does not count."""
    return main.evidence.generations[0] if cause.is_confirmed_garbage else main.judgement.since or 0


def _is_negligible(
    process: ProcessRun,
    cause: Cause,
    symptoms: Mapping[str, Symptom],
    horizon: Horizon,
    least_bytes: float | None,
) -> bool:
    """Whether nobody has felt the growth so far, and nobody asked to watch its type."""
    if cause.subjects() & process.watches.keys():
        return False
    most = allocated_per_generation(symptoms, at_rest=_is_at_rest(process, symptoms.get(ALLOCATED[0])))
    rate = _rate_of(process, cause, most)
    if least_bytes is not None:
        return rate < least_bytes
    return horizon.so_far(rate, None) < _least_so_far(process, cause)


def _least_so_far(process: ProcessRun, cause: Cause) -> float:
    """What growth must have come to: little for objects of the program's own classes, which are no library's cache."""
    return OWN_BYTES if _own_objects(process, cause) > 0 else FELT_BYTES


def _own_objects(process: ProcessRun, cause: Cause) -> float:
    """Objects a generation of classes that the program itself defines, which are counted and not estimated."""
    own = (s for s in cause.of_kind("count/") if process.is_own(s.named))
    return max((s.judgement.slope for s in own), default=0.0)


def _is_at_rest(process: ProcessRun, memory: Symptom | None) -> bool:
    """Whether memory in use was read, and neither grows nor goes up and down: then no estimate speaks against it."""
    if memory is not None:
        return memory.judgement.verdict in ("stable", "step", "plateau")
    series = process.series.get((AT, ALLOCATED[0]))
    return series is not None and not any(map(lt, series.values, series.values[1:]))


def _most_telling(cause: Cause, main: Symptom) -> list[Symptom]:
    others = [s for s in cause.symptoms.values() if s.key != main.key and s.subject != main.subject]
    return [main, *sorted(others, key=lambda s: -s.judgement.confidence)[:4]]


def _bound_text(cause: Cause) -> str:
    holder = cause.holder
    if holder is None or holder.bound <= 0:
        return ""
    left = holder.bound - holder.bound_length
    if left <= 0:
        return f" (the container is at its bound of {holder.bound:,}: its items grow)"
    rates = [s.judgement.slope for s in cause.of_kind("count/", "container/") if s.judgement.slope > 0]
    when = f", full in about {left / max(rates):,.0f} generations" if rates else ""
    return f" (bound {holder.bound:,}, {holder.bound_length:,} now{when})"


def unit_of(metric: str) -> str:
    """The unit of a slope of this metric."""
    if metric.endswith("_bytes") or metric.startswith("tracked/"):
        return "bytes/generation"
    if metric == "graph_nodes":
        return "nodes/generation"
    return "items/generation" if metric.startswith("container/") else "objects/generation"


def _tracked(
    process: ProcessRun, symptoms: Mapping[str, Symptom], threshold_mb: float, horizon: Horizon
) -> list[Finding]:
    """Tracked names that grow faster than the threshold, where no cause was found that names them better."""
    found = []
    for key, symptom in symptoms.items():
        judgement = symptom.judgement
        if not key.startswith("tracked/") or judgement.slope < threshold_mb * MB or not symptom.rises:
            continue
        name = key.removeprefix("tracked/")
        finding = Finding(
            judgement.verdict, "container", None, name, metric=key, slope=judgement.slope,
            slope_low=judgement.slope_low, slope_high=judgement.slope_high, **since(process, symptom),
            confidence=judgement.confidence, eta_s=horizon.seconds_left(judgement.slope),
            advice=f"Look at what {name} accumulates.", evidence=(symptom.evidence,),
        )
        rule = f" (rule: tracked size over {threshold_mb:g} MB a generation)"
        found.append(replace(finding, summary=summarise(finding, judgement.slope) + rule))
    return found


def _is_made_of(place: Finding, leak: Finding, process: ProcessRun) -> bool:
    """Whether the memory of a place is that of the watched objects which a leak counts there."""
    outer, inner = normalised(place.holder), normalised(leak.holder)
    is_inside = bool(outer) and inner[: len(outer)] == outer and leak.subject in process.watches
    return is_inside and place.kind in KIND_OF_TYPE.values() and _is_as_much(place.bytes_slope, leak.bytes_slope)


def _told_once(
    tracked: Sequence[Finding], counted: Sequence[Finding], symptoms: Mapping[str, Symptom]
) -> list[Finding]:
    """Leave out tracked names whose growth is told: by a part of them that is tracked, or with the place of the memory.

    A place accounts for a name if the path to it leads there, or if memory grew by too little for the two to be two.
    """
    grown = allocated_per_generation(symptoms)

    def is_told(one: Finding) -> bool:
        name, rate = str(one.subject), one.slope
        parts = [p for p in tracked if str(p.subject).startswith(f"{name}.") and _is_as_much(p.slope, rate)]
        places = [f for f in counted if f.verdict == "leak" and f.holder and _is_as_much(f.bytes_slope, rate)]
        last = name.rpartition(".")[2]
        on_path = any(f".{last} " in f"{step} " for f in places for step in f.holder)
        return bool(parts) or on_path or any(f.bytes_slope + rate > ALL_THERE_IS * grown for f in places)

    return [one for one in tracked if not is_told(one)]


def _is_as_much(rate: float, other: float) -> bool:
    """Whether two rates may be those of one thing, measured in two ways."""
    return AS_MUCH_LEAST * other <= rate <= other / AS_MUCH_LEAST


def _without_doubles(findings: list[Finding]) -> list[Finding]:
    seen: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.kind, finding.subject, finding.holder, finding.metric), finding)
    return list(seen.values())


_ORDER = ("leak", "expectation", "slowdown", "step", "filling", "growing", "sawtooth", "plateau", "stable", "too short")


def _rank(finding: Finding) -> tuple[float, float, float]:
    eta = finding.eta_s if finding.eta_s is not None else 1e18
    return (_ORDER.index(finding.verdict), eta, -finding.confidence)
