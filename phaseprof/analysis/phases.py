"""The phase to which the growth of a counter belongs: from what it changed by in each, wherever that was read."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from phaseprof.analysis.compare_series import Side, interval_changes
from phaseprof.analysis.intervals import (
    OF_ITS_OWN,
    innermost,
    is_just,
    nearest_phase,
    outermost,
    phase_of_just,
    rises_only_with,
    with_those_inside,
)
from phaseprof.analysis.naming import ALLOCATED
from phaseprof.analysis.symptoms import FOLLOWED_ENOUGH, Symptom, fits, is_about, late_changes
from phaseprof.recording.model import COUNTED as ONLY_COUNTED
from phaseprof.recording.model import OUTSIDE, ProcessRun

# Of what private memory changes by in all phases, the part of the one that brings it.
CLEAR = 0.75


def phase_of_counter(process: ProcessRun, symptom: Symptom) -> str | None:
    """The phase whose deltas add up to the rise: from readings at boundaries, else from the points' own counters.

    Few generations are followed at all their boundaries, and something else may fill up or be freed in those; private
    memory is read at all boundaries of the run.  Where that shows the rise, and in one phase, it is the better witness.
    """
    slope, alone = symptom.judgement.slope, _phase_that_comes_alone(process, symptom)
    if alone is not None:
        return alone
    if symptom.births is None or not symptom.births.phases:
        found = nearest_phase(phase_changes(process, symptom.key), slope, process.around)
        return _phase_of_private_memory(process, slope) if found is None and symptom.key in ALLOCATED else found
    late = late_changes(process, symptom)
    just = phase_of_just(late, slope)
    if just is not None:
        return just
    change = sum(symptom.changes().values())
    is_like_later = not late or is_about(sum(late.values()), slope)
    is_typical = is_about(change, symptom.expected_change()) and is_like_later
    is_late = 2 * symptom.births.g >= symptom.evidence.generations[-1]  # what filled up at first has ended
    is_exact = symptom.births.after > 1 and is_just(change, slope)
    is_known = (is_typical and symptom.births.after >= FOLLOWED_ENOUGH) or (is_late and fits(change, slope)) or is_exact
    other = None if is_known or symptom.key not in ALLOCATED else _phase_of_private_memory(process, slope)
    shows_nothing = change < OF_ITS_OWN * symptom.expected_change()
    return other or (None if shows_nothing else symptom.phase())


def _phase_that_comes_alone(process: ProcessRun, symptom: Symptom) -> str | None:
    """The phase that comes just in the generations in which the counter rises, the innermost of several."""
    generations, values = symptom.evidence.generations, symptom.evidence.values
    read = zip(pairwise(generations), pairwise(values), strict=True)
    steps = {after: new - old for (before, after), (old, new) in read if after == before + 1}
    visits = {phase: sums.generations for phase, sums in process.charges_of(ALLOCATED[1]).items() if sums.stride == 1}
    found = rises_only_with(steps, visits)
    inner = found - {process.around.get(phase) for phase in found}
    return inner.pop() if len(inner) == 1 else None


def _phase_of_private_memory(process: ProcessRun, slope: float) -> str | None:
    """The phase that brought nearly all of what private memory changed by lately, if that is about the rise."""
    whole = with_those_inside(_newer_changes(process, ALLOCATED[1]), process.around)
    outer = {phase: change for phase, change in whole.items() if outermost(phase, process.around) == phase}
    phase = max(outer, key=outer.__getitem__, default="")
    is_unknown = phase == OUTSIDE and ONLY_COUNTED in process.charges_of(ALLOCATED[1])  # it may be of counted visits
    if is_unknown or not outer or outer[phase] < CLEAR * sum(map(abs, outer.values())):
        return None
    if not is_about(outer[phase], slope):
        return None
    # Pages come where there is no room left, which of the parts of a phase is chance: blocks and points are not named.
    phases = {label.name for label in process.labels.values() if label.role == "phase"}
    return innermost(phase, {name: change for name, change in whole.items() if name in phases}, process.around)


def phase_changes(process: ProcessRun, metric: str) -> dict[str, float]:
    """Return the change per generation of a metric in each phase, over the newer half of the recording.

    Phases are those the recording charged; where none was, an interval bears the name of the point that ends it.
    """
    return {phase: change for phase, change in _newer_changes(process, metric).items() if phase != OUTSIDE}


def _newer_changes(process: ProcessRun, metric: str) -> dict[str, float]:
    """As ``phase_changes``, with what lies outside of phases.

    A visit that is recorded stands for those that were only counted before it, and what they changed is taken off the
    stretch outside around it: so sums over many generations are right, and not those of one.
    """
    charged = process.charges_of(metric)
    if not charged:
        changes = interval_changes(Side(process, None), metric)
        return {phase: float(np.mean(deltas[len(deltas) // 2 :])) for phase, deltas in changes.items() if len(deltas)}
    ends = [(sums.generations[0], sums.generations[-1]) for sums in charged.values()]
    last = max(end for _, end in ends)
    middle = (min(begin for begin, _ in ends) + last) // 2
    whole: defaultdict[str, float] = defaultdict(float)
    for phase, sums in charged.items():
        whole[OUTSIDE if phase == ONLY_COUNTED else phase] += sum(change for g, change in sums if g > middle)
    return {phase: change / max(1, last - middle) for phase, change in whole.items()}
