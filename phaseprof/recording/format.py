"""The lines of a recording, as typed structs.

Every line is one JSON object with its kind in ``k``.  Names are short where lines are many (``p``, ``m``) and plain
elsewhere.  Times are nanoseconds of the process's own monotonic clock; the header says what that clock showed at
which wall-clock time.  Fields may be added in later releases; a reader ignores what it does not know.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType

FORMAT_VERSION = 1
R = TypeVar("R", bound="Record")

LONGEST_TEXT = 10_000
MOST_FIGURE = 1e18

POINT, ENTER, EXIT = 0, 1, 2

# What a reader takes for true: whatever is computed from such numbers fits into 64 bits and into a float.
Time = Annotated[int, Meta(ge=-(2**62), le=2**62)]
Date = Annotated[float, Meta(ge=0, le=2.5e11)]  # seconds since 1970, up to the year 9000
Ordinal = Annotated[int, Meta(ge=-1, le=2**53)]
PointOrdinal = Annotated[int, Meta(ge=-1, le=2**40)]
Number = Annotated[int, Meta(ge=0, le=2**31)]
Count = Annotated[int, Meta(ge=-(2**60), le=2**60)]
Figure = Annotated[float, Meta(ge=-MOST_FIGURE, le=MOST_FIGURE)]
Index = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Name = Annotated[str, Meta(max_length=LONGEST_TEXT)]


class _Record(msgspec.Struct, omit_defaults=True, tag_field="k"):
    pass


class Header(_Record, tag="header"):
    """First line of each file: who wrote it, and how its numbers are to be read."""

    format: Number
    phaseprof: Name
    pid: Number
    started_unix_s: Date
    started_ns: Time
    page_bytes: Annotated[int, Meta(ge=1, le=2**16)]
    rank: Number = 0
    local_rank: Number = 0
    world_size: Number = 1
    parent_pid: Number = 0
    host: Name = ""
    argv: list[str] = []
    python: Name = ""
    torch: Name = ""
    platform: Name = ""
    git_commit: Name = ""
    settings: dict[str, str] = {}


class Label(_Record, tag="label"):
    """Gives a name to the number that points carry; ``role`` is phase, checkpoint, block, generation or snapshot.

    ``parent``: of the phase or block in which it was passed first, -1 for none; ``site``: file and line of the program
    where it is written, or where the function that it decorates is defined.
    """

    id: Number
    name: Name
    role: Name
    parent: Count = -1
    site: Name = ""


class Point(_Record, tag="p", gc=False):
    """One boundary: ``a`` label, ``e`` 0 point, 1 enter, 2 exit; ``g`` generation ordinal or -1.

    ``m`` is the text of ``/proc/self/statm`` as it was read (pages: size, resident, shared ...), so that nothing is
    parsed on the hot path; ``d`` device name to counters, in the order of ``DEVICE_COUNTERS``; ``n`` items done, or, of
    an enter, how many visits this one stands for, itself and those only counted since the last one that was recorded.
    """

    t: Time
    a: Number
    e: Annotated[int, Meta(ge=0, le=2)] = 0
    g: PointOrdinal = -1
    m: str = ""
    d: dict[str, list[Count]] | UnsetType = UNSET  # as in most; an empty dict for each would take memory
    n: Figure = -1.0
    th: Number = 0


class Visits(_Record, tag="v"):
    """Visits that were only counted since the last such record: label to their number, and to the items they did."""

    t: Time
    g: Ordinal
    n: dict[Number, Count]
    items: dict[Number, Figure] = {}


DEVICE_COUNTERS = (
    "allocated_bytes", "reserved_bytes", "active_bytes", "small_pool_active_bytes", "large_pool_active_bytes",
    "active_blocks", "inactive_split_bytes", "peak_allocated_bytes", "alloc_retries", "ooms",
)  # fmt: skip


class GenerationBegin(_Record, tag="generation"):
    """A turn of the outer loop begins; ``index`` is the user's own number or name, ``implied`` if none was declared."""

    t: Time
    g: Ordinal
    index: Union[Index, Name] = ""  # noqa: UP007 - evaluated at run time on Python 3.10
    implied: bool = False


class GenerationEnd(_Record, tag="generation_end"):
    """A turn ends after ``seconds``, having done ``items`` units of work (-1: not said)."""

    t: Time
    g: Ordinal
    seconds: Figure
    items: Figure = -1.0


class Metrics(_Record, tag="m"):
    """Figures read once a generation, at point ``at``: metric name to value, names ending ``_bytes`` in bytes."""

    t: Time
    g: Ordinal
    v: dict[str, Figure]
    at: Name = "generation end"


class Watch(_Record, tag="watch"):
    """A class is watched; ``low`` and ``high`` bound its live instances (-1: no bound).

    ``missing`` says, at the end, why no class of that name was ever found.
    """

    name: Name
    low: Count = -1
    high: Count = -1
    missing: str = ""


class Violation(_Record, tag="violation"):
    """An expectation is broken: ``found`` instances at the end of ``phase`` in generation ``g``, since ``since``."""

    t: Time
    g: Ordinal
    name: Name
    found: Count
    low: Count
    high: Count
    phase: Name = ""
    since: Ordinal = -1


class Births(_Record, tag="births"):
    """Survivors by birth: ``phases`` maps a phase to [count, bytes] born there and alive ``after`` turns later."""

    t: Time
    g: Ordinal
    subject: Name
    phases: dict[str, Annotated[list[Figure], Meta(min_length=2)]]
    after: Count = 1


class Holder(_Record, tag="holder"):
    """What keeps newest survivors of ``subject`` alive; the path explains ``explains`` of ``asked`` of them."""

    t: Time
    g: Ordinal
    subject: Name
    steps: list[str]
    root: str = ""
    reason: str = ""
    explains: Count = 0
    asked: Count = 0
    item: str = ""
    container: str = ""
    length: Count = -1
    grows: Figure = 0.0
    bound: Count = -1
    bound_length: Count = -1
    retained_bytes: Count = -1

    @property
    def speaks_for_most(self) -> bool:
        """Whether the path explains at least half of the survivors that were asked."""
        return 2 * self.explains >= self.asked


class Place(msgspec.Struct, array_like=True):
    """What came at one place of the heap and below it, charged to it alone.

    ``steps``: the path to it; ``type``: of what lies there, ``places`` objects, as many as before; ``bytes`` that came;
    ``graphs``: tensors with a graph that came; ``direct``: what came directly in it, with all it holds, and ``inside``:
    what came anywhere below it, each as type, number and bytes, the heaviest first; ``bound`` and ``length``: capacity
    of the container at the place, and how many lie in it, -1 where it has none.
    """

    steps: list[Name]
    type: Name
    places: Count
    bytes: Count
    graphs: Count
    direct: list[tuple[Name, Count, Count]]
    inside: list[tuple[Name, Count, Count]]
    bound: Count = -1
    length: Count = -1


class HeapPlace(msgspec.Struct, array_like=True):
    """One place of the heap with all that lies below it.

    ``parent``: position in the list of the place above, -1 for the heap as a whole; ``name``: last step of the path;
    ``objects`` at the place itself; ``bytes`` there and below; ``came``: bytes that came there and below since the look
    before, what went elsewhere not taken off.
    """

    parent: Annotated[int, Meta(ge=-1, le=2**20)]
    name: Name
    objects: Count
    bytes: Count
    came: Count


class TensorsAt(msgspec.Struct, array_like=True):
    """What lies at one place and below it in tensors of one device and category, each storage once.

    ``row``: position of the place among the rows; ``device`` as torch writes it; ``category`` as among the ``tensors/``
    metrics; ``count`` of storages.
    """

    row: Number
    device: Name
    category: Name
    count: Count
    bytes: Count


class Places(_Record, tag="places"):
    """What came by place since the look in generation ``since``: ``bytes`` in all, and the places where most came.

    ``heap``: the heap as a tree, first the whole, then places where a visible share lies or came, parents first.
    ``since`` is ``g`` where the look was the only one: then it is what lies there.  ``waiting``: what waits for the
    collector, as type, number and bytes, the heaviest; ``waiting_rings``, ``waiting_objects`` and
    ``waiting_bytes``: how many rings, objects and bytes that is in all; ``collected_at``: how many objects must wait
    for the collector to come by itself, -1 where it is switched off, 0 where that was not read.  A row without bytes
    that has graphs is where tensors with a graph lie.
    Without ``libraries`` the look left out what only modules and classes of Python and installed packages hold, and
    what is outside Python or unreachable.  ``tensors``: where the program uses an accelerator, what the places of the
    rows hold in tensors.
    """

    t: Time
    g: Ordinal
    since: Ordinal
    bytes: Count
    rows: list[Place]
    heap: list[HeapPlace] = []
    waiting: list[tuple[Name, Count, Count]] = []
    waiting_rings: Count = 0
    waiting_objects: Count = 0
    waiting_bytes: Count = 0
    collected_at: Count = 0
    libraries: bool = True
    tensors: list[TensorsAt] = []


class Site(msgspec.Struct, array_like=True):
    """Objects that one line of the program has made, and that lay at one place when it was traced.

    ``steps``: the path to the place; ``type`` of the objects; ``file`` and ``line`` of the innermost frame that is the
    program's own, empty and 0 where that is not known; ``count`` of objects, ``bytes`` that they take themselves;
    ``function`` around the line, empty where that is not known.
    """

    steps: list[Name]
    type: Name
    file: Name
    line: Number
    count: Count
    bytes: Count
    function: Name = ""


class Sites(_Record, tag="sites"):
    """Which lines made what lay at places that grow, the heaviest first; ``phase`` that was traced, empty for all."""

    t: Time
    g: Ordinal
    phase: Name
    rows: list[Site]


class Large(_Record, tag="large"):
    """Large objects at one moment: rows of type name, bytes, holder, detail."""

    t: Time
    g: Ordinal
    min_bytes: Count
    rows: list[tuple[str, Count, str, str]]


class SnapshotTaken(_Record, tag="snapshot"):
    """A labelled snapshot: process and device figures, and counts of watched and common types."""

    t: Time
    g: Ordinal
    label: Name
    v: dict[str, Figure]
    counts: dict[str, Count] = {}


class Cost(_Record, tag="cost"):
    """What profiling cost so far, seconds of processor time by job.

    ``skipped`` counts jobs that the budget had no room for; ``left`` gives the pause in seconds that a job was expected
    to take, which was too long for the loop; ``pause_s`` the longest pause, and ``pause_by`` the job that made it.
    ``in_python`` says why passes over the heap run in Python and not in C, empty where they run in C.
    """

    t: Time
    g: Ordinal
    wall_s: Figure
    spent_s: dict[str, Figure]
    skipped: dict[str, Count] = {}
    left: dict[str, Figure] = {}
    pause_s: Figure = 0.0
    pause_by: str = ""
    in_python: str = ""


class Note(_Record, tag="note"):
    """Something a reader must know: a probe was dropped, the disk was full, a label was folded into another."""

    t: Time
    text: str


class Thread(_Record, tag="thread"):
    """A new thread takes over the number ``th`` of one that ended: from here nothing is open there."""

    t: Time
    th: Number


class Dying(_Record, tag="dying"):
    """The process was near its end, or told to end, and everything that waited was looked at and written at once.

    ``cause`` is a memory error's type, a signal's name, or how much of a limit was in use; ``phase`` the innermost
    phase at that moment, as far as known; ``ending`` whether the process was about to end; ``v`` the memory limits of
    the process and of each device and what was left of them, by the names that they have in ``m`` records.
    """

    t: Time
    g: Ordinal
    cause: Name
    phase: Name = ""
    ending: bool = False
    v: dict[str, Figure] = {}


class Program(_Record, tag="program"):
    """Packages whose types were counted and that are the program's own, neither Python's nor installed ones.

    Each record names those that came since the one before.
    """

    packages: list[Name]


class End(_Record, tag="end"):
    """The process closed its recording on purpose; a file without it ended with its process."""

    t: Time
    reason: str = ""


Record = Union[  # noqa: UP007 - evaluated at run time on Python 3.10
    Header, Label, Point, GenerationBegin, GenerationEnd, Metrics, Watch, Violation, Births, Holder, Places,
    Sites, Large, SnapshotTaken, Cost, Note, Thread, Visits, Dying, Program, End,
]  # fmt: skip

encode = msgspec.json.Encoder().encode


def as_line(record: R) -> tuple[R, bytes]:
    """Encode a record so that a reader takes it, and return it as it is then.

    A text that is too long is cut, and what UTF-8 cannot hold replaced: code that is made may have names of any length,
    and files names in bytes that are no text.
    """
    with contextlib.suppress(UnicodeEncodeError):
        line = encode(record)
        if len(line) <= LONGEST_TEXT:
            return record, line
    record = msgspec.convert(_readable(msgspec.to_builtins(record)), type(record))
    return record, encode(record)


def _readable(value: object) -> object:
    if isinstance(value, str):
        return value[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_readable(key): _readable(inner) for key, inner in value.items()}
    return [_readable(inner) for inner in value] if isinstance(value, (list, tuple)) else value


# A line nested deeper than the interpreter follows is as wrong as one that is no JSON.
WRONG = (msgspec.DecodeError, ValueError, RecursionError)

decode = msgspec.json.Decoder(Record).decode
decode_lines = msgspec.json.Decoder(Record).decode_lines
