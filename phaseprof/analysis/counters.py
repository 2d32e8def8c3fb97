"""Leaks that only counters show: native memory, children, descriptors, threads, shared memory, device memory.

What Python objects explain is not blamed twice: a counter's rise is a finding of its own only where nothing that was
found already accounts for it; where both belong together, the counter's kind and the objects' holder are joined.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from phaseprof.analysis.categories import KIND_OF_TYPE
from phaseprof.analysis.companions import REGISTRIES, companion, may_be_anothers, native_owner
from phaseprof.analysis.garbage import find_dead, is_collected_in_time, is_frozen, was_collected_before
from phaseprof.analysis.limits import FELT_BYTES, OWN_BYTES, Horizon
from phaseprof.analysis.logged import logged_causes
from phaseprof.analysis.naming import ALLOCATED, advise, counted_phase, summarise
from phaseprof.analysis.naming_places import MOSTLY, SHARE
from phaseprof.analysis.on_devices import placed_on, torch_name
from phaseprof.analysis.phases import phase_of_counter
from phaseprof.analysis.placed import (
    Memory,
    explain,
    explain_once,
    is_log,
    is_measured,
    leaking_memory,
    measured_looks,
    phase_of,
    rest_of,
)  # fmt: skip
from phaseprof.analysis.resident import KEPT_LEAST_BYTES, is_of_allocators
from phaseprof.analysis.since import since
from phaseprof.analysis.symptoms import AT, Symptom, climb, judge_metric, stands_in
from phaseprof.analysis.witnesses import is_imported
from phaseprof.recording import format as fmt
from phaseprof.recording.model import OUTSIDE, ProcessRun
from phaseprof.records import BLOCK_BYTES, COMPANIONS, UNIT_BYTES, Certainty, Finding
from phaseprof.units import format_bytes
from phaseprof.verdict.levels import comes_with

# Resident pages of shared segments: they fill what is mapped, and then no more come.
PAGES = "shm_resident_bytes"
# Growth of children that run this interpreter.
WORKERS = "children_grown_bytes"
# A counter's kind, in the order in which it explains the others: a child holds pipes and threads, a thread objects.
COUNTED = (
    ("children", "children", "Process"),
    ("zombie_children", "children", "Process"),  # ended, and nobody has waited for them
    (WORKERS, "children", None),
    ("children_private_bytes", "children", None),
    ("threads", "threads", "Thread"),
    ("shm_segments", "shared memory", "SharedMemory"),
    ("shm_bytes", "shared memory", "SharedMemory"),
    ("shm_user_segments", "shared memory", "SharedMemory"),  # closed here, never unlinked
    (PAGES, "shared memory", None),
    ("descriptors", "descriptors", None),
)
# Resident memory is the poorest witness: it votes only in recordings that hold nothing better.
NATIVE = ("malloc_in_use_bytes", "anonymous_bytes", "rss_bytes")
# What Python keeps of one child, thread or open file, at most: an open text file has two buffers of 8 KiB.
COUNTED_BYTES = 32 * 1024.0
# Where a device's memory leaks, a place that brought more than this many times what the host's grew by is the device's.
PART_OF_HOST = 2.5
# What pins freed memory may be little: one object in each page of it keeps them all.
PINS_BYTES = 0.0


def counter_findings(
    process: ProcessRun,
    symptoms: Mapping[str, Symptom],
    known: Sequence[Finding],
    horizon: Horizon,
    *,
    explained: Sequence[Finding] = (),
) -> list[Finding]:
    """Return findings that begin with a counter, each with the objects that come with it.

    Args:
        process: the recording.
        symptoms: all of its judged series.
        known: findings about watched classes, of any verdict.
        horizon: when memory runs out.
        explained: findings about memory that places explain, see ``explained_memory``.
    """
    found: list[Finding] = []
    others: list[Finding] = []
    for metric, kind, subject in COUNTED:
        symptom = symptoms.get(metric)
        if symptom is None or symptom.judgement.verdict != "leak" or any(f.kind == kind for f in found):
            continue
        if metric == "descriptors" and any(f.kind in ("children", "shared memory") for f in found):
            continue
        rate = symptom.judgement.slope
        # A parent that writes to a page gives its forked children one of their own: a little of that is nobody's leak.
        least = _least_bytes(metric, process)
        if metric.endswith("_bytes") and not horizon.is_felt(rate, symptom.judgement.since, least=least):
            continue
        plain = replace(_plain(process, symptom, kind, horizon), subject=subject)
        if metric == "shm_user_segments" and may_be_anothers(process, symptom, plain.phase):
            rising = replace(plain, verdict="growing", phase=None, advice=advise("others", None, ()))
            others = [replace(rising, summary=summarise(rising, 0.0, known_as="others"))]
            continue
        held = _with_holder(process, symptoms, plain, rate)
        if metric == PAGES and not held.holder:
            continue  # a buffer that was mapped whole fills up
        held = replace(held, advice=advise(kind, held.subject, held.holder))
        found.append(replace(held, summary=summarise(held, rate if metric.endswith("_bytes") else 0.0)))
    every = [*known, *found]
    if explained:
        native = without_companions(explained, found)
    else:
        native = _dead(process, symptoms, every, horizon) or _native(process, symptoms, every, horizon)
    logged = logged_causes(process, symptoms, horizon)
    if not any(f.verdict == "leak" and f.metric in NATIVE[1:] for f in native):
        native = [*native, *_pinned(process, symptoms, [*every, *native], horizon)]
    return [*found, *native, *_device(process, symptoms, horizon), *logged, *others]


def _least_bytes(metric: str, process: ProcessRun) -> float:
    """What a counter must have come to: resident memory of programs that are none of ours, as much as our own.

    Where the growth of workers is read by itself, the sum over all children says that of servers and compilers.  What
    one process may grow by unfelt, each of many workers may: 8 that settle bring 8 MiB.
    """
    if metric == WORKERS:
        children = process.series.get((AT, "children"))
        return FELT_BYTES * max(1.0, children.last if children is not None else 1.0)
    has_workers = (AT, WORKERS) in process.series
    return KEPT_LEAST_BYTES if metric == "children_private_bytes" and has_workers else FELT_BYTES


def _with_holder(process: ProcessRun, symptoms: Mapping[str, Symptom], plain: Finding, rate: float) -> Finding:
    """Give a counter's finding the holder of what comes with it, where a look by place met that."""
    share, usual = companion(process, plain.kind, rate), plain.subject
    if share is not None:
        seen = Certainty(holder="measured" if measured_looks(process) else "seen once")
        # Pages of a segment are touched where they are read; who keeps what lies in them was somewhere else.
        is_known = plain.metric != PAGES or _are_new(process)
        made = plain.phase if is_known else phase_of(process, share) or counted_phase(symptoms)
        return replace(plain, subject=_better(share.subject, usual), holder=share.holder, certainty=seen, phase=made)
    return plain


def _are_new(process: ProcessRun) -> bool:
    """Whether pages come with segments that are mapped anew: who touches them first has made them."""
    pages, mapped = process.series.get((AT, PAGES)), process.series.get((AT, "shm_bytes"))
    if pages is None or mapped is None:
        return False
    since = bisect_left(pages.generations, mapped.generations[0])
    until = bisect_right(pages.generations, mapped.generations[-1])
    came = pages.values[until - 1] - pages.values[since] if since < until else 0.0
    return comes_with(came, mapped.last - mapped.values[0])


def is_explained(leak: Finding, counted: Sequence[Finding]) -> bool:
    """Whether a leak of objects is told already by a counter's finding that took its holder.

    Objects that came with a counter only because they are as many may be another leak: what is more than a counted
    thing takes is told by itself.
    """
    return any(
        (leak.holder and leak.holder == f.holder and not _is_more(leak, f))
        or leak.subject in COMPANIONS.get(f.kind, ())
        or leak.kind == f.kind == "garbage"
        or (leak.kind == "container" and leak.holder and leak.holder[0].startswith(REGISTRIES.get(f.kind, ())))
        for f in counted
    )


def _is_more(leak: Finding, counted: Finding) -> bool:
    """Whether objects take more than the children, threads or files do that they come with."""
    return not counted.metric.endswith("_bytes") and leak.bytes_slope > COUNTED_BYTES * counted.slope


def _better(found: str | None, usual: str | None) -> str | None:
    """Name the type that was found growing, unless it only carries the usual one (an executor its threads)."""
    return found if usual is None or found in KIND_OF_TYPE else usual


def _plain(process: ProcessRun, symptom: Symptom, kind: str, horizon: Horizon) -> Finding:
    judgement = symptom.judgement
    rate = judgement.slope if symptom.key.endswith("_bytes") else 0.0
    return Finding(
        judgement.verdict, kind, phase_of_counter(process, symptom), None, metric=symptom.key, slope=judgement.slope,
        slope_unit="bytes/generation" if symptom.key.endswith("_bytes") else f"{symptom.key}/generation",
        slope_low=judgement.slope_low, slope_high=judgement.slope_high, **since(process, symptom),
        confidence=judgement.confidence, eta_s=horizon.seconds_left(rate), evidence=(symptom.evidence,),
    )  # fmt: skip


def _native(
    process: ProcessRun, symptoms: Mapping[str, Symptom], known: Sequence[Finding], horizon: Horizon
) -> list[Finding]:
    """Memory that grows beyond what the findings so far explain: of malloc's and Python's allocator, one finding.

    Where both leak, it is what they come to together that must be felt.

    Example: 3,600 loggers are 800 KB of Python's allocator, and their tables 700 KB of malloc's.
    """
    blocks = _blocks(symptoms, known)
    beside = 0.0 if blocks is None else _has_risen(blocks.symptom)
    memory = _beyond_objects(process, symptoms, known, beside)
    together = 0.0
    if memory is not None and blocks is not None and memory.symptom.key == NATIVE[0]:
        together, rates = beside + _has_risen(memory.symptom), (memory.rate + blocks.rate, blocks.rate)
        memory, blocks = Memory(memory.symptom, *rates), Memory(blocks.symptom, *rates)
    parts = [(memory, "native"), (blocks, "objects")]
    if memory is not None and memory.rate < 2 * memory.blocks_rate:
        parts.reverse()
    found = [
        _unexplained(process, symptoms, one, kind, horizon)
        for one, kind in parts
        if one is not None
        and max(together, _has_risen(one.symptom)) >= FELT_BYTES
        and horizon.is_felt(one.rate, one.symptom.judgement.since, metric=one.symptom.key)
    ]
    return sorted(found, key=lambda finding: not finding.holder)[:1]


def _has_risen(symptom: Symptom) -> float:
    """The bytes that a counter rose by since its growth began, to its highest reading, each generation counted whole.

    Example: an import in the middle of a short run makes the slope steeper than what there was to climb.
    """
    generations, values = symptom.evidence.generations, symptom.evidence.values
    begin, top = climb(generations, values, symptom.judgement.since)
    turns = max(1, generations[top] - generations[begin])
    return UNIT_BYTES.get(symptom.key, 1.0) * (values[top] - values[begin]) * (turns + 1) / turns


def explained_memory(process: ProcessRun, symptoms: Mapping[str, Symptom], horizon: Horizon) -> list[Finding]:
    """Memory that the exact counters leak, by the places that two looks charged it to, and what is left of it.

    Empty where it does not leak by what would be felt, or no place brought a good part of that.

    Args:
        process: the recording.
        symptoms: all of its judged series.
        horizon: when memory runs out.
    """
    memory = leaking_memory(symptoms) or _resident(process, symptoms)
    if memory is None:
        return []
    symptom = memory.symptom
    if not horizon.is_felt(memory.rate, symptom.judgement.since, least=OWN_BYTES, metric=symptom.key):
        return []
    phase = phase_of_counter(process, memory.seen_by(symptoms))
    most = PART_OF_HOST * memory.rate if any(map(_is_on_device, symptoms.values())) else math.inf
    told, found = max(
        ((told, explain(process, told, memory, horizon, phase, most=most)) for told in measured_looks(process)),
        key=lambda pair: min(memory.rate, sum(finding.bytes_slope for finding in pair[1])),
        default=(None, []),
    )
    if told is None or not found:
        return []
    rest = _rest(process, told, symptoms, memory, horizon)
    owns_more = any(finding.kind == "autograd graph" for finding in found)  # memory that no look sees
    is_whole = most < math.inf or rest is None or owns_more or is_collected_in_time(process, memory.grown_by(process))
    every = found if is_whole or rest is None else [*found, rest]
    return every if any(finding.verdict == "leak" for finding in every) else [f for f in found if not is_log(f)]


def _rest(
    process: ProcessRun, told: fmt.Places, symptoms: Mapping[str, Symptom], memory: Memory, horizon: Horizon
) -> Finding | None:
    """Native memory: what is left when places are taken off, where that is a good part, and would be felt.

    What a block of Python's own allocator takes is an estimate, so no more than malloc's own growth is native.
    """
    symptom, (left, least) = memory.symptom, rest_of(process, told, symptoms, memory)
    if symptom.key not in NATIVE[1:]:
        symptom, left = symptoms.get(NATIVE[0], symptom), min(left, memory.rate - memory.blocks_rate)
        least = min(least, left, symptom.judgement.slope_low)
    is_felt = horizon.is_felt(least, symptom.judgement.since, metric=symptom.key)
    if least < SHARE * memory.rate or not is_felt:
        return None
    known_as = "native" if told.libraries else "unseen"
    rest = replace(_plain(process, symptom, "native", horizon), eta_s=horizon.seconds_left(left), bytes_slope=left)
    return _as_native(process, replace(rest, slope=left), left, known_as)


def without_companions(explained: Sequence[Finding], counted: Sequence[Finding]) -> list[Finding]:
    """Leave out what children, threads and the like own: objects that come with them, and memory that no look sees."""
    kept = [finding for finding in explained if not is_explained(finding, counted)]
    return [
        finding for finding in kept
        if finding.kind != "native" or not any(may_own(one, finding.phase) for one in counted)
    ]  # fmt: skip


def _resident(process: ProcessRun, symptoms: Mapping[str, Symptom]) -> Memory | None:
    """Resident memory, where it speaks for memory in use or grows beyond what the allocators gave out."""
    symptom = next(_leaking(process, symptoms, NATIVE[1:]), None)
    if symptom is None:
        return None
    rises = stands_in(symptom, symptoms)
    if rises:  # by how much, those few readings say better
        units = {key: UNIT_BYTES[key] for key in rises}
        return Memory(symptom, sum(rises.values()), rises.get("python_blocks", 0.0), units=units)
    return Memory(symptom, symptom.judgement.slope, units={symptom.key: 1.0})


def _leaking(process: ProcessRun, symptoms: Mapping[str, Symptom], metrics: Sequence[str]) -> Iterator[Symptom]:
    """Counters of private memory that leak, without those for which a better one speaks."""
    for metric in metrics:
        symptom = symptoms.get(metric)
        if symptom is None or symptom.judgement.verdict != "leak":
            continue
        if metric == ALLOCATED[1] and is_of_allocators(process) and not stands_in(symptom, symptoms):
            continue
        if metric == "rss_bytes" and any((AT, better) in process.series for better in NATIVE[:2]):
            continue
        yield symptom


def _dead(
    process: ProcessRun, symptoms: Mapping[str, Symptom], known: Sequence[Finding], horizon: Horizon
) -> list[Finding]:
    """Memory that goes up, at once or in long sawtooth cycles, and that a collection takes down: garbage."""
    dead = None if any(f.verdict == "leak" for f in known) else find_dead(process, symptoms)
    if dead is None:
        return []
    rate = dead.leak.judgement.slope
    if not horizon.is_felt(rate, dead.leak.judgement.since, metric=dead.leak.key):
        return []
    finding = replace(
        _plain(process, dead.leak, "garbage", horizon), subject=dead.subject, certainty=Certainty(subject="seen once"),
        phase=counted_phase(symptoms), eta_s=horizon.seconds_left(rate), advice=advise("garbage", None, ()),
    )  # fmt: skip
    waits = f"{format_bytes(dead.n_bytes)} waited for the collector at the last look"
    text = f"{waits}, including {dead.n_objects:,} of these objects"
    return [replace(finding, summary=f"{summarise(finding, rate)} ({text})")]


def _beyond_objects(
    process: ProcessRun, symptoms: Mapping[str, Symptom], known: Sequence[Finding], beside: float
) -> Memory | None:
    """Private memory that grows beyond what findings explain.

    Args:
        process: the recording.
        symptoms: all of its judged series.
        known: findings so far.
        beside: bytes that Python's own allocator rose by.
    """
    leaks = [f for f in known if f.verdict == "leak"]
    for symptom in _leaking(process, symptoms, NATIVE):
        if any(may_own(leak, symptom.phase()) for leak in leaks):
            break
        rate = symptom.judgement.slope - sum(leak.bytes_slope for leak in leaks)
        risen = _has_risen(symptom) + (beside if symptom.key == NATIVE[0] else 0.0)
        if rate >= 0.5 * symptom.judgement.slope and risen >= FELT_BYTES:
            return Memory(symptom, rate)
    return None


def may_own(leak: Finding, phase: str | None) -> bool:
    """Whether what leaks may own memory that no look sees, and be all that a counter shows to rise in a phase.

    Objects of a type written in C, tensors and threads may, and those whose size is not known; the numbers and texts in
    a container cannot.

    Example: a list of numbers that grows by 3 KiB in ``log`` does not explain 5 MiB of malloc's in ``step``.
    """
    elsewhere = phase not in (None, OUTSIDE) and leak.phase not in (None, phase)
    return leak.kind != "container" and not (leak.bytes_slope and elsewhere)


def _blocks(symptoms: Mapping[str, Symptom], known: Sequence[Finding]) -> Memory | None:
    """Small objects of Python's own allocator where nothing was found that may account for them."""
    blocks = symptoms.get("python_blocks")
    is_told = any(f.verdict == "leak" or f.holder for f in known)
    if is_told or blocks is None or blocks.judgement.verdict != "leak":
        return None
    rate = blocks.judgement.slope_low * BLOCK_BYTES
    return Memory(blocks, rate, rate)


def _unexplained(
    process: ProcessRun, symptoms: Mapping[str, Symptom], memory: Memory, kind: str, horizon: Horizon
) -> Finding:
    """A finding that only an allocator's counter shows, with what a single look names, if it names something."""
    counter, rate = memory.symptom, memory.rate
    finding = replace(_plain(process, counter, kind, horizon), eta_s=horizon.seconds_left(rate))
    once = explain_once(process, memory, horizon, finding.phase)
    if once is not None:
        return once
    grown = memory.grown_by(process)
    if is_collected_in_time(process, grown) or was_collected_before(process, counter, grown):
        finding = replace(finding, verdict="growing", kind="garbage", eta_s=None, advice=advise("garbage", None, ()))
        return replace(finding, summary=summarise(finding, rate))
    if _is_frozen(process, symptoms, finding):
        finding = replace(finding, kind="garbage", advice=advise("frozen", None, ()))
        return replace(finding, summary=f"{summarise(finding, rate)}; gc.freeze() hides them from the collector")
    known_as = "unseen" if kind == "objects" and not is_imported(process) else _what_was_seen(process)
    return _as_native(process, finding, rate, known_as)


def _is_frozen(process: ProcessRun, symptoms: Mapping[str, Symptom], finding: Finding) -> bool:
    """Whether it is memory of what ``gc.freeze`` keeps from the collector: small blocks, or what comes with them."""
    blocks = symptoms.get("python_blocks")
    if blocks is None or (finding.metric != blocks.key and blocks.phase() != finding.phase):
        return False
    return is_frozen(process, blocks)


def _as_native(process: ProcessRun, finding: Finding, rate: float, known_as: str) -> Finding:
    """Give a finding about memory that no place has its words, with the objects that come with it, if one kind does."""
    finding = replace(finding, advice=advise(known_as, None, ()))
    text = summarise(finding, rate, known_as=known_as)
    owner = native_owner(process, finding.phase) if known_as != "logged" else None
    if owner is None:
        return replace(finding, summary=text)
    text = f"{text}; {owner.subject} objects come with it, and may own it"
    once = Certainty(subject="seen once", holder="seen once")
    return replace(finding, subject=owner.subject, holder=owner.holder, certainty=once, summary=text)


def _what_was_seen(process: ProcessRun) -> str:
    """How far the recording can tell native growth from growth in Python: only where its heap was walked twice."""
    if is_imported(process):
        return "logged"
    if is_measured(process.looks.get(True)):
        return "native"
    return "unseen" if (AT, "n_objects") in process.series or process.cost is not None else "logged"


def _pinned(
    process: ProcessRun, symptoms: Mapping[str, Symptom], known: Sequence[Finding], horizon: Horizon
) -> list[Finding]:
    """Resident memory that grows with what malloc has free, since little that stays lies between what was freed.

    Only where what is in use leaks as well: a heap that takes pieces of many sizes grows for a while, and no longer.

    Example: ten losses an epoch keep 34 KB; the activations that were freed around them are 5 MB that nobody gets back.
    """
    resident, kept = symptoms.get(NATIVE[1]), leaking_memory(symptoms)
    if resident is None or kept is None or resident.judgement.verdict != "leak":
        return []
    free = judge_metric(process, "malloc_free_bytes")
    if free is None or free.verdict != "leak":
        return []
    rate = resident.judgement.slope
    is_most = free.slope >= MOSTLY * rate and kept.rate < SHARE * rate
    if not is_most or _has_risen(resident) < KEPT_LEAST_BYTES or not horizon.is_felt(rate, resident.judgement.since):
        return []
    plain = _plain(process, resident, "fragmentation", horizon)
    pins = next(_that_stay(process, kept, known, horizon, plain.phase), plain)
    found = replace(
        plain, phase=plain.phase or pins.phase or phase_of_counter(process, kept.symptom), subject=pins.subject,
        holder=pins.holder, certainty=pins.certainty,
        advice=advise("fragmentation", pins.subject, pins.holder), bytes_slope=rate,
        evidence=(resident.evidence, *(one for one in pins.evidence if one != resident.evidence)),
    )  # fmt: skip
    return [replace(found, summary=summarise(found, rate))]


def _that_stay(
    process: ProcessRun, kept: Memory, known: Sequence[Finding], horizon: Horizon, phase: str | None
) -> Iterator[Finding]:
    """What stays, however little: findings that name a holder, else what looks by place say of memory in use."""
    yield from (f for f in known if f.verdict == "leak" and f.holder)
    for told in measured_looks(process):
        yield from explain(process, told, kept, horizon, phase, least=PINS_BYTES)
    once = explain_once(process, kept, horizon, phase, least=PINS_BYTES)
    if once is not None:
        yield once


def _device(process: ProcessRun, symptoms: Mapping[str, Symptom], horizon: Horizon) -> list[Finding]:
    """Device memory that grows, by the places that hold it if known."""
    found = []
    for key, symptom in symptoms.items():
        if not _is_on_device(symptom):
            continue
        device = key.partition("/")[0]
        left = process.series.get((AT, f"{device}/available_bytes")) or process.series.get((AT, f"{device}/free_bytes"))
        findings = placed_on(process, symptom, torch_name(device), horizon, phase_of_counter(process, symptom))
        for finding in findings or [_unplaced(process, symptom, device, horizon)]:
            rate = finding.bytes_slope or finding.slope
            eta = None if left is None else horizon.seconds_left(rate, of=left.last)
            timed = replace(finding, eta_s=eta)
            found.append(replace(timed, summary=summarise(timed, rate)))
    return found


def _unplaced(process: ProcessRun, symptom: Symptom, device: str, horizon: Horizon) -> Finding:
    """Device memory of which no place is known."""
    visible = f"storages/{torch_name(device)}_bytes"
    judged = judge_metric(process, visible)
    shown = 0.0 if judged is None else judged.slope
    # Storages that were never counted say nothing: only a count that stays behind points at C++.
    hidden = (AT, visible) in process.series and shown < 0.5 * symptom.judgement.slope
    kind = "autograd graph" if hidden else "gpu"
    return replace(_plain(process, symptom, kind, horizon), subject=device, advice=advise(kind, None, ()))


def _is_on_device(symptom: Symptom) -> bool:
    return symptom.key.endswith("/allocated_bytes") and symptom.judgement.verdict == "leak"
