"""Since when something grows: the first generation that grew, by the number that the program gave it."""

from __future__ import annotations

from bisect import bisect_left
from typing import TypedDict

from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording.model import ProcessRun


class Since(TypedDict):
    """The two fields of a finding that say when its growth began."""

    since_generation: int | str | None
    since_ordinal: int | None


def since(process: ProcessRun, symptom: Symptom) -> Since:
    """Return when a judged series began to grow."""
    return named_since(process, first_that_grew(symptom))


def named_since(process: ProcessRun, ordinal: int | None) -> Since:
    """Return a generation by the program's number and by its ordinal; both ``None`` where it is not known."""
    if ordinal is None or ordinal < 0:
        return {"since_generation": None, "since_ordinal": None}
    return {"since_generation": process.number_of(ordinal), "since_ordinal": ordinal}


def first_that_grew(symptom: Symptom) -> int | None:
    """Return the ordinal of the first generation whose reading shows the growth.

    A judgement may name the last reading before the growth, from which its line starts. The generation that grew is
    then that of the next higher reading. What rises from the first reading on is taken to have risen in it as well,
    unless it was less then than one generation adds. Readings are compared with what the readings after them rise by:
    the slope may leave out what is the profiler's own.
    """
    since, generations, values = symptom.judgement.since, symptom.evidence.generations, symptom.evidence.values
    if since is None or not generations:
        return since
    at = bisect_left(generations, since)
    if at >= len(generations):
        return since
    rose, n = (values[0], 1) if at == 0 else (values[at] - values[at - 1], generations[at] - generations[at - 1])
    spans = generations[-1] - generations[at]
    later_rate = (values[-1] - values[at]) / spans if spans else 0.0
    if rose >= 0.5 * max(symptom.judgement.slope, later_rate) * n:
        return generations[at]
    later = range(at + 1, len(generations))
    return next((generations[i] for i in later if values[i] > values[at]), since)
