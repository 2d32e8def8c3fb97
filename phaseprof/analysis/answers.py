"""What a whole recording answers to the question whether it leaks; to have not looked is no "no leak"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import lt
from typing import Literal

from phaseprof.analysis.limits import Horizon
from phaseprof.analysis.symptoms import (
    AT,
    ENOUGH,
    LOOKED_AT,
    UNDECIDED,
    Symptom,
    find_symptoms,
    longest_span,
    misses_verdict,
    n_votes,
    span,
    voting_series,
)
from phaseprof.recording.model import ProcessRun
from phaseprof.records import UNIT_BYTES, Finding
from phaseprof.verdict import TOO_SHORT

Answer = Literal["leak", "filling", "no leak", "too short", "not judged"]

# Counters that decide by themselves, beside memory.
HANDLES = (
    "children", "zombie_children", "children_grown_bytes", "children_private_bytes", "threads", "shm_segments",
    "shm_user_segments", "descriptors",
)  # fmt: skip
# Private memory of the process, the better witness first.
RESIDENT = ("anonymous_bytes", "rss_bytes")


def answer(process: ProcessRun, findings: Sequence[Finding]) -> Answer:
    """Sum up a recording.

    Args:
        process: the recording.
        findings: what was found in it.

    Returns:
        ``"leak"`` or ``"filling"`` by the findings; ``"too short"`` with fewer than 6 readings; ``"not judged"`` where
        no counter that can vote was read, or none over half of the run, or where one that decides rises and was read
        too seldom to say whether that is a leak; else ``"no leak"``.
    """
    verdicts = {finding.verdict for finding in findings}
    if "leak" in verdicts:
        return "leak"
    longest, votes = max(map(len, process.series.values()), default=0), n_votes(process)
    if longest < TOO_SHORT or 0 < votes < TOO_SHORT:
        return "too short"
    if not _was_looked_at(process):
        return "not judged"
    if is_open(process, findings):
        return "not judged"
    return "filling" if "filling" in verdicts else "no leak"


def _was_looked_at(process: ProcessRun) -> bool:
    """Whether some counter that can vote was read often enough, and over enough of the run."""
    whole = longest_span(process)
    votes = (series for _, series in voting_series(process) if len(series) >= TOO_SHORT)
    return any(span(series) >= LOOKED_AT * whole for series in votes)


def _told_bytes(finding: Finding) -> float:
    """Bytes a generation that a finding accounts for."""
    return max(finding.bytes_slope, finding.slope if finding.slope_unit == "bytes/generation" else 0.0)


def is_open(process: ProcessRun, findings: Sequence[Finding]) -> bool:
    """Whether something rises by what would be felt and might leak, but was read too seldom for a verdict.

    Args:
        process: the recording.
        findings: what was found in it, and accounts for growth.
    """
    in_question = _in_question(process)
    if not in_question:
        return False
    symptoms, horizon = find_symptoms(process, only=in_question), Horizon(process)
    told = sum(map(_told_bytes, findings))
    return _memory_is_open(process, symptoms, horizon, told) or any(
        _handles_are_open(symptoms[metric], process, horizon) for metric in HANDLES if metric in symptoms
    )


def _in_question(process: ProcessRun) -> frozenset[str]:
    """The counters that may have been read too seldom: the others need not be judged once more."""
    n_readings = {metric: len(series) for (at, metric), series in process.series.items() if at == AT}
    n = _n_turns(process)
    found = {metric for metric in HANDLES if metric in n_readings and n_readings[metric] < n}
    most = max([ENOUGH, *(n_readings.get(metric, 0) for metric in RESIDENT)])
    exact = [n_readings[metric] for metric in UNIT_BYTES if metric in n_readings]
    if max(exact, default=0) < TOO_SHORT or min(exact) < most:
        found |= {*RESIDENT, *UNIT_BYTES}
    return frozenset(found)


def _memory_is_open(
    process: ProcessRun, symptoms: Mapping[str, Symptom], horizon: Horizon, told: float
) -> bool:
    """Whether private memory grows, as far as can be seen, and no exact counter says whether that is a leak."""
    resident = next((symptoms[metric] for metric in RESIDENT if metric in symptoms), None)
    if resident is None:
        return False
    exact = [symptoms[key] for key in UNIT_BYTES if key in symptoms]
    is_judged = any(len(process.series.get((AT, key), ())) >= TOO_SHORT for key in UNIT_BYTES)
    undecided = sum(UNIT_BYTES[one.key] * one.rise for one in exact if misses_verdict(one, resident))
    if is_judged and not horizon.is_felt(undecided, None):
        return False
    judgement, is_brief = resident.judgement, len(resident.evidence.values) < ENOUGH
    grows = judgement.verdict == "leak" or (judgement.verdict == "growing" and is_brief)
    return grows and horizon.is_felt(judgement.slope - told, judgement.since, metric=resident.key)


def _handles_are_open(counter: Symptom, process: ProcessRun, horizon: Horizon) -> bool:
    """Whether children, threads, descriptors or segments rise from reading to reading, of which some are missing."""
    values, judgement = counter.evidence.values, counter.judgement
    if judgement.verdict not in UNDECIDED or len(values) >= _n_turns(process) or not all(map(lt, values, values[1:])):
        return False
    return not counter.key.endswith("_bytes") or horizon.is_felt(counter.rise, None)


def _n_turns(process: ProcessRun) -> int:
    """Generations, or readings where none was declared."""
    return len(process.generations) or max(map(len, process.series.values()), default=0)
