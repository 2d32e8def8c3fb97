"""Findings from logs of other tools: an amount of memory that leaks, of which nothing but its owner is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from phaseprof.analysis.limits import Horizon
from phaseprof.analysis.naming import advise, summarise
from phaseprof.analysis.since import since
from phaseprof.analysis.symptoms import AT, Symptom
from phaseprof.analysis.witnesses import left_of, witnesses
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.units import MIB

# Less than this in all is nobody's leak: the allocators of any program move by as much.
LEAST_GROWTH_BYTES = 1.0 * MIB
# An owner to the key of its words; devices have a kind of their own.
_KNOWN_AS = {"process": "logged", "container": "logged container", "host": "logged host"}


def logged_causes(process: ProcessRun, symptoms: Mapping[str, Symptom], horizon: Horizon) -> list[Finding]:
    """Return a finding for each owner of memory whose best witness in an imported log leaks."""
    found: dict[str, Finding] = {}
    for metric, owner in witnesses(process, AT).items():
        symptom = symptoms.get(metric)
        if symptom is None or symptom.judgement.verdict != "leak" or owner in found:
            continue
        judgement = symptom.judgement
        if judgement.growth >= LEAST_GROWTH_BYTES and horizon.is_material(judgement.slope):
            found[owner] = _finding(process, symptom, owner, horizon)
    return list(found.values())


def _finding(process: ProcessRun, symptom: Symptom, owner: str, horizon: Horizon) -> Finding:
    judgement = symptom.judgement
    known_as = _KNOWN_AS.get(owner, "logged device")
    is_device = owner not in _KNOWN_AS
    left = left_of(process, owner, AT)
    finding = Finding(
        "leak", "gpu" if is_device else "native", None, owner if is_device else None, metric=symptom.key,
        slope=judgement.slope, slope_low=judgement.slope_low, slope_high=judgement.slope_high,
        bytes_slope=judgement.slope, **since(process, symptom), confidence=judgement.confidence,
        eta_s=horizon.seconds_left(judgement.slope, of=left) if left is not None or owner == "process" else None,
        advice=advise(known_as, None, ()), evidence=(symptom.evidence,),
    )  # fmt: skip
    return replace(finding, summary=summarise(finding, judgement.slope, known_as=known_as))
