"""Workers that record themselves: what one of them tells in full is not told of the process that started it as well."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

# Counters by which a process sees that the memory of its children grows.
_OF_CHILDREN = frozenset({"children_grown_bytes", "children_private_bytes"})


def told_once(
    processes: Sequence[ProcessRun], findings: Sequence[tuple[Finding, ...]]
) -> tuple[tuple[Finding, ...], ...]:
    """Return the findings of each process of a run, without the memory of children that say themselves what leaks.

    Args:
        processes: those of the run.
        findings: what was found in each, in the same order.
    """
    leaking = [process for process, found in zip(processes, findings, strict=True) if _leaks_itself(found)]
    return tuple(
        tuple(one for one in found if not (_is_of_children(one) and any(_may_be_worker(w, process) for w in leaking)))
        for process, found in zip(processes, findings, strict=True)
    )


def _is_of_children(finding: Finding) -> bool:
    return finding.metric in _OF_CHILDREN


def _leaks_itself(found: Sequence[Finding]) -> bool:
    return any(one.verdict == "leak" and not _is_of_children(one) for one in found)


def _may_be_worker(process: ProcessRun, of: ProcessRun) -> bool:
    """Whether a process began after another of the same machine and rank; launchers may stand between the two."""
    its, others = process.header, of.header
    if its is None or others is None or its.pid == others.pid:
        return False
    is_there = (its.host, its.rank, its.world_size) == (others.host, others.rank, others.world_size)
    return is_there and its.started_unix_s >= others.started_unix_s
