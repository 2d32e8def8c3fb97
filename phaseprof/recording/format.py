"""The lines of a recording, as typed structs.

Every line is one JSON object with its kind in ``k``.  Names are short where lines are many (``p``, ``m``) and plain
elsewhere.  Times are nanoseconds of the process's own monotonic clock; the header says what that clock showed at
which wall-clock time.  Fields may be added in later releases; a reader ignores what it does not know.
"""

from __future__ import annotations

from typing import Union

import msgspec

FORMAT_VERSION = 1

POINT, ENTER, EXIT = 0, 1, 2


class _Record(msgspec.Struct, omit_defaults=True, tag_field="k"):
    pass


class Header(_Record, tag="header"):
    """First line of each file: who wrote it, and how its numbers are to be read."""

    format: int
    phaseprof: str
    pid: int
    started_unix_s: float
    started_ns: int
    page_bytes: int
    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    parent_pid: int = 0
    host: str = ""
    argv: list[str] = []
    python: str = ""
    torch: str = ""
    platform: str = ""
    git_commit: str = ""
    settings: dict[str, str] = {}


class Label(_Record, tag="label"):
    """Gives a name to the number that points carry; ``role`` is phase, checkpoint, block, generation or snapshot."""

    id: int
    name: str
    role: str
    parent: int = -1


class Point(_Record, tag="p", gc=False):
    """One boundary: ``a`` label, ``e`` 0 point, 1 enter, 2 exit; ``g`` generation ordinal or -1.

    ``m`` is the text of ``/proc/self/statm`` as it was read (pages: size, resident, shared ...), so that nothing is
    parsed on the hot path; ``d`` device name to counters, in the order of ``DEVICE_COUNTERS``; ``n`` items done, or, of
    an enter, how many visits this one stands for, itself and those only counted since the last one that was recorded.
    """

    t: int
    a: int
    e: int = 0
    g: int = -1
    m: str = ""
    d: dict[str, list[int]] = {}
    n: float = -1.0
    th: int = 0


class Visits(_Record, tag="v"):
    """Visits that were only counted since the last such record: label to their number, and to the items they did."""

    t: int
    g: int
    n: dict[int, int]
    items: dict[int, float] = {}


DEVICE_COUNTERS = (
    "allocated_bytes", "reserved_bytes", "active_bytes", "small_pool_active_bytes", "large_pool_active_bytes",
    "active_blocks", "inactive_split_bytes", "peak_allocated_bytes", "alloc_retries", "ooms",
)  # fmt: skip


class GenerationBegin(_Record, tag="generation"):
    """A turn of the outer loop begins; ``index`` is the user's own number or name, ``implied`` if none was declared."""

    t: int
    g: int
    index: Union[int, str] = ""  # noqa: UP007 - evaluated at run time on Python 3.10
    implied: bool = False


class GenerationEnd(_Record, tag="generation_end"):
    """A turn ends after ``seconds``, having done ``items`` units of work (-1: not said)."""

    t: int
    g: int
    seconds: float
    items: float = -1.0


class Metrics(_Record, tag="m"):
    """Figures read once a generation, at point ``at``: metric name to value, names ending ``_bytes`` in bytes."""

    t: int
    g: int
    v: dict[str, float]
    at: str = "generation end"


class Watch(_Record, tag="watch"):
    """A class is watched; ``low`` and ``high`` bound its live instances (-1: no bound).

    ``missing`` says, at the end, why no class of that name was ever found.
    """

    name: str
    low: int = -1
    high: int = -1
    missing: str = ""


class Violation(_Record, tag="violation"):
    """An expectation is broken: ``found`` instances at the end of ``phase`` in generation ``g``, since ``since``."""

    t: int
    g: int
    name: str
    found: int
    low: int
    high: int
    phase: str = ""
    since: int = -1


class Births(_Record, tag="births"):
    """Survivors by birth: ``phases`` maps a phase to [count, bytes] born there and alive ``after`` turns later."""

    t: int
    g: int
    subject: str
    phases: dict[str, list[float]]
    after: int = 1


class Holder(_Record, tag="holder"):
    """What keeps newest survivors of ``subject`` alive; the path explains ``explains`` of ``asked`` of them."""

    t: int
    g: int
    subject: str
    steps: list[str]
    root: str = ""
    reason: str = ""
    explains: int = 0
    asked: int = 0
    item: str = ""
    container: str = ""
    length: int = -1
    grows: float = 0.0
    bound: int = -1
    bound_length: int = -1
    retained_bytes: int = -1

    @property
    def speaks_for_most(self) -> bool:
        """Whether the path explains at least half of the survivors that were asked."""
        return 2 * self.explains >= self.asked


class Collected(_Record, tag="collected"):
    """A confirming collection freed ``freed`` of ``asked`` suspects of ``subject``, and ``freed_bytes`` in all.

    Where it was made at the end without a suspect, because memory goes up for long, all objects of the type were asked.
    """

    t: int
    g: int
    subject: str
    asked: int
    freed: int
    freed_bytes: int = -1


class Large(_Record, tag="large"):
    """Large objects at one moment: rows of type name, bytes, holder, detail."""

    t: int
    g: int
    min_bytes: int
    rows: list[tuple[str, int, str, str]]


class SnapshotTaken(_Record, tag="snapshot"):
    """A labelled snapshot: process and device figures, and counts of watched and common types."""

    t: int
    g: int
    label: str
    v: dict[str, float]
    counts: dict[str, int] = {}


class Cost(_Record, tag="cost"):
    """What profiling cost so far, seconds of processor time by job.

    ``skipped`` counts jobs that the budget had no room for; ``left`` gives the pause in seconds that a job was expected
    to take, which was too long for the loop; ``pause_s`` the longest pause, and ``pause_by`` the job that made it.
    """

    t: int
    g: int
    wall_s: float
    spent_s: dict[str, float]
    skipped: dict[str, int] = {}
    left: dict[str, float] = {}
    pause_s: float = 0.0
    pause_by: str = ""


class Note(_Record, tag="note"):
    """Something a reader must know: a probe was dropped, the disk was full, a label was folded into another."""

    t: int
    text: str


class Thread(_Record, tag="thread"):
    """A new thread takes over the number ``th`` of one that ended: from here nothing is open there."""

    t: int
    th: int


class End(_Record, tag="end"):
    """The process closed its recording on purpose; a file without it ended with its process."""

    t: int
    reason: str = ""


Record = Union[  # noqa: UP007 - evaluated at run time on Python 3.10
    Header, Label, Point, GenerationBegin, GenerationEnd, Metrics, Watch, Violation, Births, Holder, Collected, Large,
    SnapshotTaken, Cost, Note, Thread, Visits, End,
]  # fmt: skip

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Record).decode
decode_lines = msgspec.json.Decoder(Record).decode_lines
