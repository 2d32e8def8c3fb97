"""Dead cycles: when they are a leak, and what the last look by place tells of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phaseprof.analysis.categories import comes_with_python, is_plumbing
from phaseprof.analysis.held import MOSTLY, grew_held
from phaseprof.analysis.naming import ALLOCATED
from phaseprof.analysis.symptoms import AT, Symptom, stands_in
from phaseprof.recording.model import ProcessRun
from phaseprof.records import BLOCK_BYTES
from phaseprof.verdict.cycles import FEW, GARBAGE_GENERATIONS, long_cycle
from phaseprof.verdict.levels import accounts_for, comes_with

# Rings for each generation: fewer have not piled up one by one, in most of them.
PILED_UP = 0.5
# Of the memory that is left, the part that waiting cycles may take for a while.  Chosen, not measured.
FELT = 0.1
# Of the most frequent type that waits, the part of which another must be as many to be told in its place.
MANY = 0.25
# Objects that are frozen out of the collector's sight, as each look at all of the heap finds them.
FROZEN = "gc/gc_frozen"
# Of what had risen, the part that may be left by a collection that took all of it.
TAKEN = 0.1
# In the first generations programs collect what their start left behind.
STARTED = 2


def collects_itself(process: ProcessRun, since: int) -> bool:
    """Whether full collections came after a generation."""
    flags = process.series.get((AT, "after_full_collection"))
    return flags is not None and any(value and g > max(STARTED, since) for g, value in flags)


def waits_for_long(process: ProcessRun, since: int) -> bool:
    """Whether dead cycles have piled up for long enough.

    Args:
        process: the recording.
        since: the generation in which memory began to rise, or to rise again.
    """
    flags = process.series.get((AT, "after_full_collection"))
    newest = flags.generations[-1] if flags is not None else 0
    return newest + 1 - since >= GARBAGE_GENERATIONS


def rising_cycle(symptoms: Mapping[str, Symptom]) -> Symptom | None:
    """Find memory in use that goes up and down, in sawtooth cycles so long that dead cycles had time to be a leak.

    A collection of the young may cut a cycle, and it may come because the profiler made objects, too.
    """
    symptom = symptoms.get(ALLOCATED[0])
    if symptom is None or symptom.judgement.shape != "sawtooth":
        return None
    generations, values = symptom.evidence.generations, symptom.evidence.values
    begin = long_cycle(generations, values, FEW)
    if begin is None:
        return None
    grown = (values[-1] - values[begin]) / (generations[-1] - generations[begin])
    if grown < 0:
        return None
    return replace(symptom, judgement=replace(symptom.judgement, verdict="leak", since=generations[0], slope=grown))


def comes_to_much(process: ProcessRun, grown: float = 0.0) -> bool:
    """Whether rings that wait would take a tenth of the memory that is left before the collector comes by itself.

    It counts objects, not bytes: few with large buffers wait for long.  True where it is switched off, where nobody
    knows, and where the program dropped at its end what it had held: as one piece, or as many.

    Example: rings of 100 objects with 40 KB, 400 bytes each; 75,000 must wait, which is 30 MB of 20 GB.  Rings of 10
    objects with 1 MB come to 7.5 GB.

    Args:
        process: the recording.
        grown: bytes that memory grew by, if they are what makes that.
    """
    told = process.places
    left = process.series.get((AT, "available_bytes"))
    if told is None or left is None or told.collected_at <= 0 or told.waiting_objects <= 0:
        return True
    if told.waiting_rings < PILED_UP * (told.g + 1) or grew_held(process, AT, told.g):
        return True
    each = max(grown, told.waiting_bytes) / told.waiting_objects
    return each * max(told.collected_at, told.waiting_objects) >= FELT * left.last


def is_collected_in_time(process: ProcessRun, grown: float) -> bool:
    """Whether about as much as memory grew by waits for the collector, which will take it before it comes to much.

    Args:
        process: the recording.
        grown: bytes that memory leaked until the newest look by place.
    """
    told = process.places
    if told is None or not accounts_for(told.waiting_bytes, grown):
        return False
    return not comes_to_much(process, grown)


def was_collected_before(process: ProcessRun, symptom: Symptom, grown: float) -> bool:
    """Whether the newest full collection took all that a counter had risen by until then, at about the pace since.

    What rises since waits for the next one, then, unless it would come to much before that.

    Example: rules of a server are cycles, 360 blocks a generation; the collector came in the thirteenth generation,
    and had not come again by the eightieth.

    Args:
        process: the recording.
        symptom: the counter.
        grown: bytes that it rose by.
    """
    flags, left = process.series.get((AT, "after_full_collection")), process.series.get((AT, "available_bytes"))
    at, values = symptom.evidence.generations, symptom.evidence.values
    collected = [g for g, value in flags or () if value and g > STARTED]
    index = bisect_left(at, collected[-1]) if collected else 0
    if not 0 < index < len(at) or left is None or grown >= FELT * left.last:
        return False
    risen = max(values[:index]) - values[0]
    is_taken = values[index] <= values[0] + TAKEN * risen
    return is_taken and risen >= MOSTLY * symptom.judgement.slope * (at[index] - at[0])


def is_frozen(process: ProcessRun, blocks: Symptom) -> bool:
    """Whether blocks of Python's allocator grow with what ``gc.freeze`` keeps from the collector, and no place does.

    A place would have what is still held, frozen or not.

    Example: 1,000 more objects are frozen in each generation, and nothing that a look meets grows.

    Args:
        process: the recording.
        blocks: the counter of Python's allocator.
    """
    compared = [look for _, look in sorted(process.looks.items()) if look.since < look.g]
    frozen = process.series.get((AT, FROZEN))
    if not compared or frozen is None or len(frozen) < 2:
        return False
    told = compared[-1]  # at all of the heap, if that was looked at twice
    rate = (frozen.last - frozen.values[0]) / (frozen.generations[-1] - frozen.generations[0])
    met = told.bytes / (told.g - told.since)
    return comes_with(blocks.judgement.slope, rate) and met < MOSTLY * BLOCK_BYTES * blocks.judgement.slope


@dataclass(frozen=True)
class Dead:
    """What waited for the collector at the last look.

    Attributes:
        leak: memory in use, judged as a leak.
        subject: the type that tells most, short.
        n_objects, n_bytes: how many of it waited, and how many bytes in all.
    """

    leak: Symptom
    subject: str
    n_objects: int
    n_bytes: int


def what_piles_up(rows: Sequence[tuple[str, int, int]]) -> tuple[str, int, int]:
    """Return the heaviest of the types that wait for the collector, of those that tell something and are many.

    Example: five classes that an import has dropped are not what piles up, however heavy.

    Args:
        rows: type, number and bytes, the heaviest first.
    """
    telling = [row for row in rows if not is_plumbing(row[0])] or list(rows)
    most = max(n for _, n, _ in telling)
    many = [row for row in telling if row[1] >= MANY * most] or telling  # of fewer objects more bytes may wait
    return min(many, key=lambda row: comes_with_python(row[0]))


def find_dead(process: ProcessRun, symptoms: Mapping[str, Symptom]) -> Dead | None:
    """Find what waited for the collector at the last look, where that is about as much as memory in use rose by.

    Example: memory rose by 28 MB; 35 MB wait, of which 28 are parameters, and the rest imports left behind.
    """
    memory, resident = map(symptoms.get, ALLOCATED)
    told = process.places
    if resident is not None and stands_in(resident, symptoms):
        memory = resident
    if memory is None or told is None or not told.waiting or collects_itself(process, 0):
        return None
    generations, values = memory.evidence.generations, memory.evidence.values
    leak = memory if memory.judgement.verdict == "leak" else rising_cycle(symptoms)
    begin = long_cycle(generations, values, FEW)
    if begin is None and leak is memory and memory.judgement.shape != "sawtooth":
        # One early fall is a small part of a long rise: no cycle, and a begin all the same.
        rises = bisect_left(generations, memory.judgement.since or 0)
        begin = rises if generations[-1] - generations[rises] >= GARBAGE_GENERATIONS else None
    if leak is None or begin is None or told.g < generations[-1]:
        return None
    grown = leak.judgement.slope * (generations[-1] - generations[begin])
    name, n, piled_up = what_piles_up(told.waiting)
    fitting = [size for size in (sum(row[2] for row in told.waiting), piled_up) if accounts_for(size, grown)]
    if not fitting or not comes_to_much(process, grown):
        return None
    n_bytes = fitting[0]
    return Dead(leak, name.rpartition(".")[2], n, n_bytes)
