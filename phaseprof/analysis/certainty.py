"""Where each part of a finding comes from: measured, seen once, or not known."""

from __future__ import annotations

from dataclasses import replace

from phaseprof.analysis.symptoms import FOLLOWED
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Certainty, Finding, Source, without_numbers


def from_looks(n: int) -> Source:
    """Say what a part is that was seen in so many looks.

    >>> from_looks(0), from_looks(1), from_looks(2)
    ('not known', 'seen once', 'measured')
    """
    return ("not known", "seen once", "measured")[min(max(n, 0), 2)]


def with_certainty(process: ProcessRun, finding: Finding) -> Finding:
    """Fill in where the parts of a finding come from that whoever made it did not say.

    A verdict comes from the readings of its series; a phase from the generations in which it was followed; a subject
    from the counts of its class, or from a counter that counts nothing else; a holder from the searches that met it.
    """
    said, verdict = finding.certainty, from_looks(_n_voted(finding))
    phase = _or(said.phase, _of_phase(process, finding))
    subject = _or(said.subject, _of_subject(finding, verdict))
    holder = _or(said.holder, _of_holder(process, finding))
    return replace(finding, certainty=Certainty(verdict, phase, subject, holder))


def _or(said: Source, found: Source) -> Source:
    return found if said == "not known" else said


def _n_voted(finding: Finding) -> int:
    return max((len(one.values) for one in finding.evidence if one.metric == finding.metric), default=0)


def _of_phase(process: ProcessRun, finding: Finding) -> Source:
    if finding.phase is None:
        return "not known"
    followed = [births.after for births in process.births if finding.phase in births.phases]
    return from_looks(max(followed) if followed else _n_voted(finding))  # without: from the series at each boundary


def _of_subject(finding: Finding, verdict: Source) -> Source:
    if finding.subject is None:
        return "not known"
    if finding.metric.startswith((FOLLOWED, "tracked/")) or finding.kind in _BY_COUNTER:
        return verdict
    return "not known"


# Kinds whose counter counts nothing else: the subject is the word for it.
_BY_COUNTER = frozenset({"children", "threads", "descriptors", "shared memory", "gpu", "throughput"})


def _of_holder(process: ProcessRun, finding: Finding) -> Source:
    if not finding.holder:
        return "not known"
    path = [without_numbers(step) for step in finding.holder]
    n = sum([without_numbers(step) for step in one.steps] == path for one in process.holders)
    return from_looks(max(1, n))
