"""What a whole recording answers to the question whether it leaks; to have not looked is no "no leak"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from phaseprof.analysis.limits import Horizon
from phaseprof.analysis.symptoms import AT, ENOUGH, find_symptoms, n_votes, voting_series
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Finding
from phaseprof.verdict import TOO_SHORT

Answer = Literal["leak", "filling", "no leak", "too short", "not judged"]

# Of the generations of a run, the share that the readings of one counter must span for a word about the whole.
LOOKED_AT = 0.5
# What memory in use comes to, of malloc and of Python's own allocator.
EXACT = ("malloc_in_use_bytes", "python_blocks")


def answer(process: ProcessRun, findings: Sequence[Finding]) -> Answer:
    """Sum up a recording.

    Args:
        process: the recording.
        findings: what was found in it.

    Returns:
        ``"leak"`` or ``"filling"`` by the findings; ``"too short"`` with fewer than 6 readings, or where resident
        memory grows and no better counter was read often enough to say whether that is a leak;
        ``"not judged"`` where no counter that can vote was read, or none over half of the run; else ``"no leak"``.
    """
    verdicts = {finding.verdict for finding in findings}
    if "leak" in verdicts:
        return "leak"
    longest, votes = max(map(len, process.series.values()), default=0), n_votes(process)
    if longest < TOO_SHORT or 0 < votes < TOO_SHORT:
        return "too short"
    if not _was_looked_at(process):
        return "not judged"
    if not findings and _grows_unjudged(process):
        return "too short"
    return "filling" if "filling" in verdicts else "no leak"


def _was_looked_at(process: ProcessRun) -> bool:
    """Whether some counter that can vote was read often enough, and over enough of the run."""
    whole = max((_span(series) for series in process.series.values()), default=0)
    votes = (series for _, _, series in voting_series(process) if len(series) >= TOO_SHORT)
    return any(_span(series) >= LOOKED_AT * whole for series in votes)


def _grows_unjudged(process: ProcessRun) -> bool:
    """Whether private memory grows by what would be felt, as far as can be seen, and no exact counter can judge it."""
    exact = (process.series.get((AT, metric)) for metric in EXACT)
    if any(series is not None and len(series) >= TOO_SHORT for series in exact):
        return False
    symptoms, horizon = find_symptoms(process), Horizon(process)
    symptom = symptoms.get("anonymous_bytes") or symptoms.get("rss_bytes")
    if symptom is None:
        return False
    judgement, is_brief = symptom.judgement, len(symptom.evidence.values) < ENOUGH
    grows = judgement.verdict == "leak" or (judgement.verdict == "growing" and is_brief)
    return grows and horizon.is_felt(judgement.slope, judgement.since, metric=symptom.key)


def _span(series: Series) -> int:
    return series.generations[-1] - series.generations[0] if len(series) else 0
