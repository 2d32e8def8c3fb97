"""Objects that come with a counter: the threads, files or children it counts, or what may own memory no look sees."""

from __future__ import annotations

from itertools import pairwise

from phaseprof.analysis.placed import Share, is_measured, measured_looks, phase_of, shares
from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording.model import OUTSIDE, ProcessRun
from phaseprof.records import COMPANIONS
from phaseprof.verdict.levels import comes_with

# Kinds of growth whose objects may each hold one of what a counter counts, such as a tensor in shared memory a file. An
# array lies in memory that something else holds: only of segments may there be as many.
COUNTABLE = frozenset({"objects", "tensors"})
IN_SEGMENTS = COUNTABLE | {"arrays"}
# A look without libraries speaks of what may own memory if it covers so much of the time until the newest look.
OF_THE_RUN = 0.5
# Segments of this user are this program's if they became more in this part of the readings, and if this part of those
# that came while they were followed came in the phase.
OF_READINGS, OF_THOSE = 0.2, 0.75
# Where the standard library keeps what a counter counts: such a table grows with it, and a thread holds itself.
REGISTRIES = {
    "threads": ("module threading.", "module concurrent.futures.thread.", "threading.py ", "thread.py "),
    "children": ("module multiprocessing.", "module subprocess."),
}


def companion(process: ProcessRun, kind: str, rate: float) -> Share | None:
    """Return the place where objects came that come with a counter: of a type known for it, else as many of them.

    Args:
        process: the recording.
        kind: that of the counter's findings.
        rate: by how much it grows a generation.
    """
    registries, told = REGISTRIES.get(kind, ()), next(iter(measured_looks(process)), process.places)
    every = [one for one in shares(told) if one.holder and not one.holder[0].startswith(registries)]
    known = max(every, key=lambda one: _n_known(one, kind), default=None)
    if known is not None and _n_known(known, kind) > 0:
        return known
    if not is_measured(told):
        return None  # as many objects are many a place's, where nothing says that they came
    kinds = IN_SEGMENTS if kind == "shared memory" else COUNTABLE
    alike = (one for one in every if one.kind in kinds and comes_with(rate, one.objects.get(one.type_name, 0.0)))
    return next(alike, None)


def native_owner(process: ProcessRun, phase: str | None) -> Share | None:
    """Return the only place where objects came that may own memory which no look sees; ``None`` where several are.

    Objects of a library's own types may own any amount of it, as a record batch owns what lies in its pool.

    Args:
        process: the recording.
        phase: the one in which memory rises; what is known to be born in another owns none of it.
    """
    for told in measured_looks(process):
        turns = told.g - told.since
        if process.places is not None and turns < OF_THE_RUN * process.places.g and not told.libraries:
            continue
        every = [
            one for one in shares(told)
            if one.kind == "objects" and one.holder and one.came >= turns and phase_of(process, one) in (None, phase)
        ]  # fmt: skip
        if every:
            return every[0] if len(every) == 1 else None
    return None


def _n_known(share: Share, kind: str) -> float:
    """Objects a generation of the types that come with a counter of this kind."""
    return max((n for name, n in share.objects.items() if name.rpartition(".")[2] in COMPANIONS[kind]), default=0.0)


def may_be_anothers(process: ProcessRun, symptom: Symptom, phase: str | None) -> bool:
    """Whether segments in /dev/shm may be of other programs of this user, which make some whenever they like.

    Example: it rises in every thirtieth reading, or one of three that came while it was followed came in the phase.
    """
    rises = [b > a for a, b in pairwise(symptom.evidence.values)]
    born = [one.phases for one in process.births if one.subject == symptom.key]
    ours, every = sum(one.get(phase or "", [0.0])[0] for one in born), sum(n for one in born for n, _ in one.values())
    return phase in (None, OUTSIDE) or sum(rises) < OF_READINGS * len(rises) or ours < max(2.0, OF_THOSE * every)
