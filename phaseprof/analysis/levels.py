"""What one look at the end of a run names, where the budget had no room for a second one.

A level is no growth.  But where an exact counter leaked all along, and what one look finds in one place comes to about
as much as the counter grew by, that is the likeliest place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from phaseprof.analysis.causes import comes_with_python, is_plumbing
from phaseprof.analysis.naming import BLOCK_BYTES
from phaseprof.analysis.symptoms import AT, Symptom
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import COMPANIONS, NO_ROOT, NODE_BYTES
from phaseprof.verdict.levels import accounts_for, is_close

# What a counter's growth may be found as: where its holders are filed, the series of its level, what one of it takes in
# bytes, kind and subject.
_SUMS = (
    ("arrays", "arrays_bytes", 1.0, "arrays", "ndarray"),
    ("storages", "storages/cpu_bytes", 1.0, "tensors", "Tensor"),
    ("graph", "graph_nodes", NODE_BYTES, "autograd graph", "Tensor"),
    ("untracked/array", "untracked/array_bytes", 1.0, "arrays", "array"),
    ("untracked/bytearray", "untracked/bytearray_bytes", 1.0, "objects", "bytearray"),
    ("untracked/BytesIO", "untracked/BytesIO_bytes", 1.0, "objects", "BytesIO"),
)

_ALLOCATORS = (("malloc_in_use_bytes", 1.0), ("python_blocks", BLOCK_BYTES))


@dataclass(frozen=True)
class Place:
    """Where about as much lies as a counter grew by: its kind and subject, and who holds it."""

    kind: str
    subject: str
    holder: fmt.Holder


def find_place(process: ProcessRun, symptoms: Mapping[str, Symptom], counter: Symptom) -> Place | None:
    """Find what one look shows to be as large as the growth of an allocator's counter.

    Args:
        process: the recording.
        symptoms: all of its judged series.
        counter: ``malloc_in_use_bytes`` for arrays, storages and graphs, ``python_blocks`` for a container, either for
            objects of the program's own.
    """
    grown = counter.judgement.growth
    if counter.key == "python_blocks":
        return _find_objects(process, symptoms) or _find_container(process, grown)
    # Memory first: it is in what grows, while objects that keep it may be as many as ever.
    return _find_sum(process, grown) or _find_objects(process, symptoms)


def _find_sum(process: ProcessRun, grown: float) -> Place | None:
    for filed, metric, each, kind, subject in _SUMS:
        series = process.series.get((AT, metric))
        holder = _newest(process, filed)
        if series is None or len(series) != 1 or holder is None:
            continue
        level = min(each * series.last * holder.explains / holder.asked, _most_in(holder))
        if _accounts_for(holder, level, grown):
            return Place("autograd graph" if _leads_through_graph(kind, holder) else kind, subject, holder)
    return None


def _most_in(holder: fmt.Holder) -> float:
    """What lies directly in a container cannot come to more bytes than its items do; infinite where it lies deeper.

    Example: of the arrays that were asked, all lie in a buffer of a hundred small ones; the large ones lie elsewhere.
    """
    shown = f"({holder.container.rpartition('.')[2]}, {holder.length:,}"
    is_direct = len(holder.steps) > 1 and shown in holder.steps[-2]
    return holder.length * holder.retained_bytes if is_direct and holder.retained_bytes > 0 else math.inf


def _leads_through_graph(kind: str, holder: fmt.Holder) -> bool:
    """Whether tensors are what a graph has saved: whoever keeps the graph keeps them."""
    return kind == "tensors" and any("autograd graph" in step for step in holder.steps)


def _find_objects(process: ProcessRun, symptoms: Mapping[str, Symptom]) -> Place | None:
    """Find a type of the program's own of which one look shows as many as come, all told, to what the allocators added.

    A type with fewer objects than one for every fourth generation was made at the start.
    """
    if _n_censuses(process) != 1:
        return None
    leaks = [(s, unit) for key, unit in _ALLOCATORS if (s := symptoms.get(key)) and s.judgement.verdict == "leak"]
    grown = sum(unit * symptom.judgement.growth for symptom, unit in leaks)
    turns = max((symptom.evidence.generations[-1] for symptom, _ in leaks), default=0)
    fitting = []
    for key, holder in _newest_told(process).items():
        name, count = key.removeprefix("count/"), process.newest_count(AT, key)
        is_own = key.startswith("count/") and not is_plumbing(name) and not comes_with_python(name)
        if is_own and count >= 0.25 * turns and _accounts_for(holder, count * holder.retained_bytes, grown):
            fitting.append(Place("objects", name.rpartition(".")[2], holder))
    return max(fitting, key=lambda place: place.holder.retained_bytes, default=None)


def _newest_told(process: ProcessRun) -> dict[str, fmt.Holder]:
    """For each suspect, the newest record that tells who holds it."""
    return {holder.subject: holder for holder in process.holders if _is_told(holder)}


def _n_censuses(process: ProcessRun) -> int:
    return len(process.series.get((AT, "n_objects"), ()))


def _find_container(process: ProcessRun, grown: float) -> Place | None:
    """Choose the longest container that holds about as many items as blocks were added, and was not followed before."""
    newest = {holder.subject: holder for holder in process.holders if holder.subject.startswith("container/")}
    fitting = [
        holder
        for key, holder in newest.items()
        if _is_told(holder) and accounts_for(holder.length, grown) and len(process.series.get((AT, key), ())) < 2
    ]
    best = max(fitting, key=lambda holder: holder.length, default=None)
    return None if best is None else Place("container", best.container.rpartition(".")[2], best)


def find_companion(process: ProcessRun, kind: str, counter: Symptom) -> Place | None:
    """Find objects of a type that comes with a counter, about as many as it grew by: those nearest to their root.

    Args:
        process: the recording.
        kind: that of the counter's findings.
        counter: judged over all its readings.
    """
    if _n_censuses(process) != 1:
        return None
    fitting = [
        Place(kind, subject, holder)
        for key, holder in _newest_told(process).items()
        if (subject := key.rpartition(".")[2]) in COMPANIONS[kind]
        if is_close(process.newest_count(AT, key), counter.judgement.growth)
    ]
    return min(fitting, key=lambda place: len(place.holder.steps), default=None)


def _newest(process: ProcessRun, filed: str) -> fmt.Holder | None:
    return next((h for h in reversed(process.holders) if h.subject == filed and _is_told(h)), None)


def _is_told(holder: fmt.Holder) -> bool:
    return holder.asked > 0 and holder.speaks_for_most and holder.root not in NO_ROOT


def _accounts_for(holder: fmt.Holder, level: float, grown: float) -> bool:
    """Whether a level may be what a counter grew by; in a full container items have grown, or nothing has."""
    is_full = 0 < holder.bound <= holder.bound_length
    return is_close(level, grown) if is_full else accounts_for(level, grown)
