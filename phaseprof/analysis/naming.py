"""Names growth: its rate and phase by the exact counters, what to do about it, and the words for it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from phaseprof.analysis.intervals import ABLE
from phaseprof.analysis.paths import place_of_growth
from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording.model import OUTSIDE
from phaseprof.records import BLOCK_BYTES, Finding
from phaseprof.units import format_bytes, format_estimate

ALLOCATED = ("malloc_in_use_bytes", "anonymous_bytes")


def allocated_per_generation(symptoms: Mapping[str, Symptom]) -> float:
    """Bytes a generation by which memory in use grows on the host and on devices; infinite where that is not known."""
    host = [s.judgement.slope for key in ALLOCATED if (s := symptoms.get(key)) is not None and s.rises]
    devices = [s.judgement.slope for key, s in symptoms.items() if key.endswith("/allocated_bytes") and s.rises]
    blocks = symptoms.get("python_blocks")
    small = blocks.judgement.slope * BLOCK_BYTES if blocks is not None and blocks.rises else 0.0
    return max(host, default=math.inf) + sum(devices) + small


def counted_phase(symptoms: Mapping[str, Symptom]) -> str | None:
    """The phase in which the exact counters of the allocators rise, for what was not followed from birth.

    Where both were followed, the phase that fits both: what one phase takes for a while and another gives back may fit
    one of them by chance.
    """
    told = [
        (symptom, unit)
        for metric, unit in (("malloc_in_use_bytes", 1.0), ("python_blocks", BLOCK_BYTES))
        if (symptom := symptoms.get(metric)) is not None and symptom.phase()
    ]
    if len(told) < 2:
        return told[0][0].phase() if told else None
    phases = {phase for symptom, _ in told for phase, change in symptom.changes().items() if change > 0}
    added = {phase: sum(unit * symptom.changes().get(phase, 0.0) for symptom, unit in told) for phase in sorted(phases)}
    rise = sum(unit * symptom.expected_change() for symptom, unit in told)
    able = [phase for phase, change in added.items() if change >= ABLE * rise]
    return min(
        able or added,
        key=lambda phase: sum(
            unit * abs(symptom.changes().get(phase, 0.0) - symptom.expected_change()) for symptom, unit in told
        ),
    )


# An object that grows in itself, by numbers for example, and not the number of such objects.
ONE_OBJECT = "one object"
ADVICE = {
    "objects": "Remove {subject} from {place} when you are done with them, or bound its size.",
    "tensors": "Clear or bound {place}, and keep what you need of each tensor, not the tensor itself: .item() or "
    "float() for logging, .detach().cpu() for data.",
    "arrays": "Clear or bound {place}; if a small slice is what you need, copy it: a view keeps the whole array.",
    "autograd graph": "Detach what goes into {place}: .detach() where a device sync would hurt, .item() or float() for "
    "logging; collect experience under torch.no_grad(), and clear gradients with zero_grad(set_to_none=True).",
    ONE_OBJECT: "Bound what {place} keeps in attributes of its own, such as numbers or text.",
    "container": "Bound {place} or remove entries that you are done with: deque(maxlen=...), lru_cache(maxsize=...), "
    "or pop on completion.",
    "garbage": "Only a full collection frees these reference cycles, and collections are too rare: break the cycle "
    "(weakref, or clear the back reference), or call gc.collect() at the end of a generation.",
    "frozen": "Objects that were frozen and dropped are never collected: call gc.freeze() once, before the loop, or "
    "gc.unfreeze() and gc.collect() when you are done with them.",
    "native": "No Python object explains it: look for a missing free, close or reset in the extensions that this phase "
    "uses; heaptrack and memray --native name the caller.",
    "unseen": "There was no room in the budget to look at what Python holds. Run longer, raise the budget "
    "(PHASEPROF_BUDGET=0.2), or track() what you suspect.",
    "logged": "The log holds only the memory of the process, so it cannot say what grows: record a run with phaseprof.",
    "logged container": "The log holds only the memory of the container, so it cannot say which of its processes "
    "grows: record a run with phaseprof.",
    "logged host": "The log holds only the memory of the whole machine, so another program may be what grows: log the "
    "memory of the process, or record a run with phaseprof.",
    "logged device": "The log holds only the memory of the device, so it cannot say what grows: record a run with "
    "phaseprof, or take a memory snapshot with stacks.",
    "gpu": "No Python tensor accounts for this device memory: keep no graph alive (detach, no_grad), and take a memory "
    "snapshot with stacks to see which lines allocate it.",
    "children": "Close child processes after use and join them, or wait for them; give forked workers arrays in place "
    "of lists of Python objects, whose reference counts make each worker copy the pages they lie on.",
    "descriptors": "Close files, sockets and mappings when you are done with them (use a with block), or bound "
    "{place}.",
    "threads": "Shut executors and threads down after use (with ThreadPoolExecutor(...) as pool:, or shutdown()).",
    "shared memory": "Close and unlink each segment when its reader is done.",
    "others": "See whose they are: ls -l /dev/shm shows the owner and the time of each.",
    "throughput": "Look for work that grows with each generation, such as a list that is searched.",
    "fragmentation": "The allocator keeps freed memory because a few live blocks lie in between: clear or bound "
    "{place}, or give freed memory back with malloc_trim(0), MALLOC_ARENA_MAX=2 or another allocator.",
}  # fmt: skip


def advise(kind: str, subject: str | None, holder: tuple[str, ...], *, container: str = "", length: int = -1) -> str:
    """Return what to do about a finding of this kind, naming the attribute to change where it is known.

    Args:
        kind: that of the finding.
        subject: its subject.
        holder: its holder path.
        container: type of the container on it that grows, where that is known.
        length: how many items that had.
    """
    place = place_of_growth(holder, container, length) or "whatever keeps them"
    return ADVICE[kind].format(subject=f"{subject} objects" if subject else "objects", place=place)


# --- the sentence -----------------------------------------------------------------------------------------------------

# One and several of what a slope counts, as a reader calls them.
UNITS = {
    "objects": ("object", "objects"), "items": ("item", "items"), "nodes": ("node", "nodes"),
    "children": ("child process", "child processes"), "zombie_children": ("zombie process", "zombie processes"),
    "descriptors": ("descriptor", "descriptors"), "threads": ("thread", "threads"),
    "shm_segments": ("shared-memory segment", "shared-memory segments"),
    "shm_user_segments": ("shared-memory segment", "shared-memory segments"),
    "python_blocks": ("block of Python's allocator", "blocks of Python's allocator"),
}  # fmt: skip
# Counters whose name begins the sentence, so that its number needs no unit.
_COUNTERS = {
    "children": "Child processes", "zombie_children": "Zombie child processes", "descriptors": "File descriptors",
    "threads": "Threads",
    "shm_segments": "Shared-memory segments", "shm_user_segments": "Shared-memory segments in /dev/shm",
}  # fmt: skip
_PLURALS = {
    "Tensor": "tensors", "Parameter": "parameters", "Buffer": "tensor buffers", "UntypedStorage": "tensor storages",
    "ndarray": "arrays", "array": "arrays", "memmap": "memory-mapped arrays", "dict": "dicts", "list": "lists",
    "set": "sets", "tuple": "tuples",
}  # fmt: skip
# Subjects that a kind implies.
_IMPLIED = {None, "Process", "ForkProcess", "SpawnProcess", "Thread", "SharedMemory"}
# What goes by the name of its kind: the words for it, and whether they are a plural.
_BY_KIND = {
    "objects": ("objects", True), ONE_OBJECT: ("an object", False), "tensors": ("tensors", True),
    "arrays": ("arrays", True),
    "autograd graph": ("autograd graphs", True), "garbage": ("unreachable cycles", True),
    "container": ("a container", False),
    "native": ("native memory", False), "unseen": ("memory", False),
    "logged": ("process memory", False), "logged container": ("container memory", False),
    "logged host": ("machine memory", False), "logged device": ("device memory", False),
    "gpu": ("device memory", False),
    "fragmentation": ("freed memory that the allocator keeps", False), "children": ("child processes", True),
    "descriptors": ("file descriptors", True), "threads": ("threads", True), "shared memory": ("shared memory", False),
    "throughput": ("throughput", False),
}  # fmt: skip
_MOMENTS = ("after ", "before ", "end of ", "start of ")
_BEGUN = {"children": "started", "threads": "started", "descriptors": "opened", "shared memory": "created"}
_BORN = {**_BEGUN, "native": "allocated", "gpu": "allocated"}
# A verdict as a verb, of one thing and of several.
_VERBS = {
    "log": ("grows slowly", "grow slowly"),
    "leak": ("leaks", "leak"), "filling": ("fills up", "fill up"),
    "growing": ("is still rising, but too little to call a leak", "are still rising, but too little to call a leak"),
    "plateau": ("has levelled off", "have levelled off"), "sawtooth": ("goes up and down", "go up and down"),
    "step": ("rose once", "rose once"), "stable": ("stays level", "stay level"),
    "expectation": ("is not as many as expected", "are not as many as expected"),
    "slowdown": ("slows down", "slow down"),
    "too short": ("grew, but in too few readings to judge", "grew, but in too few readings to judge"),
}  # fmt: skip


def summarise(finding: Finding, bytes_slope: float, *, known_as: str | None = None) -> str:
    """Say a finding in one sentence: what grows, where, how fast, since when, and how long memory lasts.

    Who holds it takes lines of its own: see :mod:`phaseprof.analysis.paths`.

    Args:
        finding: all of it but the sentence.
        bytes_slope: what it grows by, in bytes a generation; 0 if not known.
        known_as: a key of ``ADVICE`` that says what is known of it, where that is less than its kind; or "log".
    """
    is_log = known_as == "log"
    is_others = known_as == "others"
    what, is_plural = _name_subject(finding, None if is_log or is_others else known_as)
    where = f"{_begun(finding, known_as)} {phase_words(finding.phase)}" if finding.phase else ""
    rate = _rate_text(finding, bytes_slope)
    since = f" since generation {finding.since_generation}" if finding.since_generation is not None else ""
    eta = f"; memory runs out in about {format_estimate(finding.eta_s)}" if finding.eta_s is not None else ""
    if known_as == "unseen":
        where = f" {phase_words(finding.phase)}" if finding.phase else ""
        return f"Memory grows{where}{rate}{since}; what holds it was not examined (budget){eta}"
    if is_others:
        return f"{what} rise{rate}{since}; they may be another program's"
    return f"{what}{where} {_VERBS['log' if is_log else finding.verdict][is_plural]}{rate}{since}{eta}"


def _begun(finding: Finding, known_as: str | None) -> str:
    """Say what happened to it in its phase: to be read after its name."""
    if finding.kind == "fragmentation":  # what was freed there, nobody knows
        return ""
    if finding.kind == "children" and finding.slope_unit.startswith("bytes/"):  # it grows in children that were there
        return " allocated"
    return " " + _BORN.get(finding.kind, "filled" if _is_one(finding, known_as) else "created")


def phase_words(phase: str) -> str:
    """Say in which phase."""
    if phase.startswith(_MOMENTS):  # an interval of a log bears the name of the checkpoint that ends it
        return f"up to '{phase}'"
    return "outside any phase" if phase == OUTSIDE else f"in {phase}"


def _is_one(finding: Finding, known_as: str | None) -> bool:
    """Whether one object or container grows, not the number of them, and its items have no better name."""
    is_held = bool(finding.holder) and f"({finding.subject}" in finding.holder[-1]
    is_container = finding.kind == "container" and (is_held or finding.metric.startswith("container/"))
    return is_container or known_as == ONE_OBJECT


def _name_subject(finding: Finding, known_as: str | None) -> tuple[str, bool]:
    """Return the words that begin the sentence, and whether they are a plural."""
    kind, subject, counter = finding.kind, finding.subject, finding.slope_unit.partition("/")[0]
    if finding.metric.startswith("tracked/"):
        return f"Tracked {subject!r}", False
    if counter in _COUNTERS:
        return _COUNTERS[counter] + _of(subject), True
    if kind == "children" and counter == "bytes":
        return "Memory of child processes", False
    words, is_plural = _BY_KIND[known_as or kind]
    words = words[0].upper() + words[1:]
    if kind == "fragmentation" and subject:
        return f"{words} between {_PLURALS.get(subject, f'{subject} objects')} that stay", is_plural
    if kind == "garbage" and subject:
        return f"{words} of {_PLURALS.get(subject, f'{subject} objects')}", is_plural
    if kind in _BEGUN:
        return words + _of(subject), is_plural
    if subject is None or subject in ("Tensor", "ndarray"):
        return words, is_plural
    if kind == "gpu" or finding.metric.endswith("/allocated_bytes"):
        return f"{words} on {subject}", is_plural
    if _is_one(finding, known_as):
        what = f"{subject} object" if known_as == ONE_OBJECT else subject
        return f"{'An' if subject[0] in 'aeiouAEIOU' else 'A'} {what}", False
    return (_PLURALS[subject].capitalize(), True) if subject in _PLURALS else (subject, False)


def _of(subject: str | None) -> str:
    """Name the type that comes with a counter, unless the counter's name says it."""
    return "" if subject in _IMPLIED else f" of {_PLURALS.get(str(subject), f'{subject} objects')}"


def _rate_text(finding: Finding, bytes_slope: float) -> str:
    counter = finding.slope_unit.partition("/")[0]
    size = format_bytes(bytes_slope) if bytes_slope > 0 else ""
    if counter == "bytes" or not finding.slope:
        return f": +{size} a generation" if size else ""
    number = count_change(finding.slope)
    unit = "" if counter in _COUNTERS else f" {unit_words(counter, number)}"
    return f": {number}{unit}{f' (about {size})' if size else ''} a generation"


def count_change(change: float) -> str:
    """Write by how many a count changes: whole where it is whole, else with one decimal, or the first two that count.

    >>> count_change(2464.0), count_change(-1.52), count_change(0.0312)
    ('+2,464', '-1.5', '+0.031')
    """
    return f"{change:+,.1f}".removesuffix(".0") if abs(change) >= 0.1 or not change else f"{change:+.2g}"


def unit_words(unit: str, number: str) -> str:
    """Return the words for what a slope counts, which fit its number as written; a unit not known stays as it is.

    >>> unit_words("shm_segments", "+1"), unit_words("objects", "+16")
    ('shared-memory segment', 'objects')
    """
    one, several = UNITS.get(unit, (unit, unit))
    return one if number.lstrip("+-") == "1" else several
