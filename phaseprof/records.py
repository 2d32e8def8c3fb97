"""Plain frozen data that measuring, analysis and reports share: numbers and text, never a user object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

Verdict = Literal[
    "leak", "growing", "filling", "plateau", "sawtooth", "step", "stable", "too short", "expectation", "slowdown"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

KINDS = (
    "objects", "tensors", "arrays", "autograd graph", "container", "garbage", "native",
    "fragmentation", "gpu", "children", "descriptors", "shared memory", "threads",
    "throughput",
)  # fmt: skip

# Of a memory limit, what is in use when the process may be killed for it at any moment.
NEAR_LIMIT = 0.9

# How a chain of holders ends where it names nobody: dead cycles, what only C holds, and a search that met its limit.
GARBAGE, OUTSIDE, STOPPED = "garbage", "outside Python", "unknown (search stopped)"
# Where native memory lies, which has no place.
NATIVE_MEMORY = "native"
# How the path to a place begins that no root reaches, in looks by place.
UNREACHABLE = "unreachable"
# Of what was made in a phase and was there some generations later, wherever that lies.
STAYED = "made, and still there"
NOT_FOUND = frozenset({OUTSIDE, STOPPED, ""})
# How a path begins whose search stopped before it met a root, and what stands for a name that could not be read.
UNKNOWN_HOLDER, UNKNOWN_NAME = "unknown holder", "<unknown>"

# Contexts of a program's own autograd functions, which torch names after them; each is a node of a graph, and keeps it.
CONTEXTS = "torch.autograd.function."

# What a bare node of an autograd graph takes in C++: 5.6 KB for the eight of a small network's step.
NODE_BYTES = 700.0
# A block of Python's allocator: between a float and a short list.
BLOCK_BYTES = 48.0
# The exact counters of memory in use, of malloc and of Python's own allocator, and the bytes that one of each is.
UNIT_BYTES = {"malloc_in_use_bytes": 1.0, "python_blocks": BLOCK_BYTES}

# Types that come with a counter of their own, by the kind of its findings: what is found about them is the counter's.
COMPANIONS = {
    "children": {"Process", "ForkProcess", "SpawnProcess", "ForkServerProcess", "Popen", "Connection", "Finalize"},
    "threads": {"Thread", "ThreadPoolExecutor", "_WorkItem", "Timer"},
    "shared memory": {"SharedMemory", "mmap", "memoryview", "ObjectRef"},
    "descriptors": {"mmap", "socket", "TextIOWrapper", "BufferedReader", "BufferedWriter", "FileIO", "FileHandler"},
}

# The package's own types, and those of its demonstration program, which is a user's.
_OWN, _STUDIED = "phaseprof.", "phaseprof.demo."

_INDEX = re.compile(r"\[[^\]]*\]")
_LENGTH = re.compile(r", [\d,]+( entries)?\)")
_TIMES = re.compile(r" x[\d,]+$")
SOME_TIMES = " x…"


def is_own_name(type_name: str) -> bool:
    """Say whether a type of this qualified name is one of phaseprof's, and no program's."""
    return type_name.startswith(_OWN) and not type_name.startswith(_STUDIED)


def without_numbers(step: str) -> str:
    """Drop from a step of a holder path what changes from look to look: index, length, and how often it repeats.

    >>> without_numbers(".losses (list, 82)"), without_numbers("[-3] (Step)"), without_numbers(".cause (Error) x14")
    ('.losses (list)', '[...] (Step)', '.cause (Error) x…')
    """
    return _TIMES.sub(SOME_TIMES, _LENGTH.sub(")", _INDEX.sub("[...]", step)))


@dataclass(frozen=True)
class Evidence:
    """One series behind a finding.

    Attributes:
        point: label of the point at which every value was read.
        metric: name of the metric; names ending ``_bytes`` are bytes, others counts.
        generations: (n,) ordinal of each reading's generation.
        values: (n,) the readings.
    """

    point: str
    metric: str
    generations: tuple[int, ...]
    values: tuple[float, ...]


Source = Literal["measured", "seen once", "not known"]


@dataclass(frozen=True)
class Certainty:
    """Where each part of a finding comes from: two looks or more, one, or none.

    Attributes:
        verdict: from the readings of the series that voted.
        phase: from the generations in which it was followed.
        subject: from the looks that met it: by place, or counts of its type.
        holder: from the looks by place, or searches, that met it.
    """

    verdict: Source = "not known"
    phase: Source = "not known"
    subject: Source = "not known"
    holder: Source = "not known"


@dataclass(frozen=True)
class Site:
    """A line of the program that made some of what a finding is about.

    Attributes:
        file: path as the interpreter has it.
        line: its number, from 1.
        function: the function around it; empty where that is not known.
        share: of what stayed of one traced phase, 0 to 1.
    """

    file: str
    line: int
    function: str
    share: float


@dataclass(frozen=True)
class HeldTensors:
    """What lies where a finding's subject is held, in tensors of one device and category, each storage once.

    Attributes:
        device: as torch writes it, such as ``cuda:0``.
        category: ``parameters``, ``gradients``, ``optimizer_state``, ``with_graph``, ``inputs`` or ``other``.
        count: of storages.
        n_bytes: of all of them.
    """

    device: str
    category: str
    count: int
    n_bytes: int


@dataclass(frozen=True)
class Finding:
    """What phaseprof claims about one cause of growth; the symptoms of one leak are one finding.

    Attributes:
        verdict: one of ``VERDICTS``.
        kind: one of ``KINDS``.
        phase: label of the phase in which the memory that stays is allocated; ``None`` if unknown.
        subject: the type or named thing that grows; ``None`` where no type grows.
        holder: steps from the root that keeps the subject alive, nearest root first; empty if nothing in Python does.
        site: ``file:line`` of the allocation, where a recording knows it.
        sites: the lines that made what grows, the one that made most first; empty where no phase was traced.
        metric: the series that voted.
        slope: growth per ``slope_unit``, robust; ``slope_low`` and ``slope_high`` bound it at 95 %.
        bytes_slope: growth in bytes a generation, where sizes were measured; 0 where they are not known.
        since_generation: the first generation that grew, by the number or name that the program gave it.
        since_ordinal: the same by its position in the recording, from 0.
        confidence: 0 to 1; a convention for ranking, not a probability.
        eta_s: seconds until the nearest limit is reached at this slope; ``None`` if no limit or no growth.
        summary: one sentence.
        advice: what to do about it, one or two sentences.
        evidence: the series behind the verdict.
        certainty: where verdict, phase, subject and holder come from.
        tensors: what tensors lie where the subject is held, the most first; empty where no accelerator is used.
    """

    verdict: Verdict
    kind: str
    phase: str | None = None
    subject: str | None = None
    holder: tuple[str, ...] = ()
    site: str | None = None
    metric: str = ""
    slope: float = 0.0
    slope_unit: str = "bytes/generation"
    slope_low: float = 0.0
    slope_high: float = 0.0
    bytes_slope: float = 0.0
    since_generation: int | str | None = None
    since_ordinal: int | None = None
    confidence: float = 0.0
    eta_s: float | None = None
    summary: str = ""
    advice: str = ""
    evidence: tuple[Evidence, ...] = field(default=())
    certainty: Certainty = Certainty()
    sites: tuple[Site, ...] = ()
    tensors: tuple[HeldTensors, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the finding as JSON-ready data."""
        return asdict(self)

    def __str__(self) -> str:
        return self.summary


@dataclass(frozen=True)
class DeviceReading:
    """Counters of one accelerator's caching allocator, in bytes and counts; a key that is absent was not measured.

    ``counters`` uses the names of ``torch.cuda.memory_stats`` shortened: ``allocated_bytes``, ``reserved_bytes``,
    ``active_bytes``, ``small_pool_active_bytes``, ``large_pool_active_bytes``, ``active_blocks``,
    ``inactive_split_bytes``, ``peak_allocated_bytes``, ``alloc_retries``, ``ooms``.
    """

    device: str
    counters: Mapping[str, int]


@dataclass(frozen=True)
class LargeObject:
    """One object whose own bytes exceed a threshold: a buffer, storage, string or container table."""

    type_name: str
    size_bytes: int
    holder: str = ""
    detail: str = ""
