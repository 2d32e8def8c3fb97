"""From one process's recording to its findings, ranked by what ends the run first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phaseprof.analysis.categories import KIND_OF_TYPE
from phaseprof.analysis.certainty import with_certainty
from phaseprof.analysis.clock import by_the_clock
from phaseprof.analysis.counters import counter_findings, explained_memory, is_explained
from phaseprof.analysis.expectations import broken_expectations, expectation_finding
from phaseprof.analysis.limits import Horizon
from phaseprof.analysis.made import with_sites
from phaseprof.analysis.naming import allocated_per_generation, summarise
from phaseprof.analysis.on_devices import with_tensors
from phaseprof.analysis.paths import normalised
from phaseprof.analysis.since import since
from phaseprof.analysis.symptoms import Symptom, find_symptoms
from phaseprof.analysis.throughput import find_slowdown
from phaseprof.analysis.watched import watched_classes
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.units import MB

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
    horizon = Horizon(process, least_bytes)
    explained = explained_memory(process, symptoms, horizon)
    watched = watched_classes(process, symptoms, horizon, told={finding.subject for finding in explained})
    counted = counter_findings(process, symptoms, watched, horizon, explained=explained)
    leaks = [f for f in watched if f.verdict == "leak" and not is_explained(f, counted)]
    counted = [f for f in counted if not any(_is_made_of(f, leak, process) for leak in leaks)]
    if any(f.verdict == "leak" for f in (*leaks, *counted)):
        counted = [f for f in counted if f.verdict != "plateau"]  # what has levelled off is no news beside a leak
    rest = [f for f in watched if f.verdict == "filling" or (f.verdict != "leak" and not leaks)]
    rest = [f for f in rest if not is_explained(f, counted)]
    tracked = [] if leaks else _told_once(_tracked(process, symptoms, leak_threshold_mb, horizon), counted, symptoms)
    named = {finding.subject for finding in [*leaks, *counted]}
    broken = [expectation_finding(process, one) for one in broken_expectations(process) if one.name not in named]
    every = [*counted, *leaks, *broken, *tracked, *rest]
    every += find_slowdown(process, symptoms, every)
    ranked = sorted(_without_doubles(every), key=_rank)[:MOST_FINDINGS]
    known = (with_tensors(process, with_sites(process, with_certainty(process, finding))) for finding in ranked)
    return by_the_clock(process, tuple(known))


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
        )  # fmt: skip
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
