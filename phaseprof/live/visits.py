"""Which visits are recorded and which are only counted, so that short ones cost next to nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from phaseprof.live.recorder import clean_text
from phaseprof.probes.typeinfo import is_a

# Of the budget, the part that boundaries may take: recording them, and all later work on those records.
RECORDING_PART = 0.12
# What may be spent on boundaries before any wall time has passed, so that a short program is recorded in full; below
# the reserve, short visits are gathered.
CREDIT_NS, RESERVE_NS = 4_000_000, 1_000_000
# By so much they may overdraw where a generation is followed closely.
MOST_DEBT_NS = 2 * CREDIT_NS
# The first generations are recorded in any case, however many visits lie in each: a verdict rests on a dozen.
FIRST_TURNS = 20
# Where visits are gathered, the time between two recorded ones of a label.
SHORTEST_NS, LONGEST_NS = 50_000_000, 10_000_000_000
# Counts are written as often, unless there are so many labels that it would take more than this part of the budget;
# where there is no file, the model takes them in as often as it takes in boundaries.
WRITING_PART, UNWRITTEN_NS = 0.1, 500_000_000
# Boundaries recorded in full before visits are gathered even where there is room: bounds the file of a long run.
FULL_DETAIL = 20_000
# A boundary, and the records of a generation, until they were measured; and what becomes of its record later (folding).
FIRST_POINT_NS, FIRST_TURN_NS, LATER_NS = 2_500.0, 25_000.0, 700.0
# What a scope does around a boundary: so much at least, and more by as much as the boundary itself takes longer than
# the time below, since both then find cold caches.  Measured with work of 0 to 1 ms between visits.
AROUND_NS, WARM_POINT_NS = 700.0, 2_900.0
# What a boundary takes more where several threads record: one that writes lets go of the interpreter, and the
# others that take it come with cold caches.  Measured with 8 and 64 threads; a thread's own clock does not see it.
AMONG_THREADS_NS = 60_000.0
# One boundary in so many is timed on the clock of the processor, which takes a fifth of what it times; what a boundary
# takes is the mean of those, the first guess counting for some, and of older ones less and less.
TIMED_EVERY, GUESS_COUNTS_FOR, MOST_TIMED = 64, 4, 128
# A visit that is only counted, most of it for reading the clock; what it takes more where it comes so long after the
# last that what it needs is no longer in the processor's caches; and how long that is: half of it is gone after a
# quarter of that.  Measured with work of 0.7 µs to 0.7 ms between visits.
COUNTED_NS, COLD_NS, COLD_AFTER_NS = 250.0, 500.0, 250_000
# A generation that is only counted takes more by this: its scope is made, and the program may ask for its number.
COUNTED_TURN_NS = 2_500.0

# One visit: what makes it unlike all others until it has ended, the visit around it, its label, and whether it is
# recorded.
Visit = tuple[list[object], Any, "Visited", bool]


class Visited:
    """A label that is passed again and again: when its next visit is to be recorded, and how many were counted.

    Attributes:
        name: the label.
        role: phase, block, checkpoint or generation.
        due: the clock from which on a visit is recorded; earlier ones are counted.  Below zero: how many are recorded
            in any case.
        count: counts a visit: one step of the interpreter, so that threads need no lock.
        items: units of work that counted visits did since counts were last written; ``None``: not said.
        number: under which the recording knows the label; -1 before it does.
        is_inner: whether it lay in another when it was passed first.
        site: file and line where the function that it decorates is defined; empty if it decorates none.
    """

    __slots__ = (
        "_n_reads", "_n_weighed", "_n_written", "count", "due", "is_inner", "items", "name", "number", "role", "site",
    )  # fmt: skip

    def __init__(self, name: str, role: str) -> None:
        # Cut as it is recorded: all that is filed under it has one name.  What is no text is refused when it is passed.
        self.name = clean_text(name) if is_a(name, str) else name
        self.role = role
        self.site = ""
        self.forget()

    def forget(self) -> None:
        """Begin anew, for another recording."""
        counter: Iterator[int] = itertools.count()
        self.count = counter.__next__
        self.due, self.number, self.is_inner = 0, -1, False
        self.items: float | None = None
        self._n_reads = self._n_written = self._n_weighed = 0

    def n_counted(self) -> int:
        """Return how many visits were counted so far."""
        self._n_reads += 1  # reading the counter advances it
        return self.count() - self._n_reads + 1

    def take_count(self) -> int:
        """Return how many visits were counted since the last call."""
        before, self._n_written = self._n_written, self.n_counted()
        return self._n_written - before

    def take_weight(self) -> int:
        """Return for how many visits one that is recorded now stands: itself, and those counted since the last one."""
        before, self._n_weighed = self._n_weighed, self.n_counted()
        return 1 + self._n_weighed - before

    def add_items(self, n: float) -> None:
        """Add the units of work of a counted visit; -1 where it did not say."""
        if n >= 0:
            self.items = n + (self.items or 0.0)


def name_of(visit: Visit | None) -> str | None:
    """The phase of a visit, or of the nearest recorded one around it."""
    while visit is not None and not visit[3]:
        visit = visit[1]
    return None if visit is None else visit[2].name


def take_counts(
    labels: Iterable[Visited], number_of: Callable[[Visited], int]
) -> tuple[dict[int, int], dict[int, float]]:
    """Return how many visits of each label were counted since the last call, and what work they did, by its number."""
    visits: dict[int, int] = {}
    items: dict[int, float] = {}
    for label in labels:
        n = label.take_count()
        if n:
            number = number_of(label)
            visits[number] = n
            if label.items is not None:
                items[number], label.items = label.items, None
    return visits, items


class Pace:
    """Spreads recorded visits so that boundaries take no more than their part of the budget.

    While there is room every visit is recorded.  Where short visits use it up, each label is recorded at most once in a
    while: as long as one visit of each label takes to earn, so that no label takes the place of another.

    Args:
        share: of wall time that measuring may take; ``None``: every visit is recorded.
        clock: nanoseconds, monotonic.

    Attributes:
        is_bounded: whether there is a share.
        gathers_until: until when some label's visits are only counted.
    """

    def __init__(self, share: float | None, clock: Callable[[], int]) -> None:
        self._part = math.inf if share is None else share * RECORDING_PART
        self.is_bounded = share is not None
        self._clock = clock
        self._began = clock()
        self._point_ns, self._turn_ns = FIRST_POINT_NS, FIRST_TURN_NS
        self._timed_ns, self._n_timed = GUESS_COUNTS_FOR * FIRST_POINT_NS, GUESS_COUNTS_FOR
        self._turns_ns = 0
        self.has_threads = False
        self._counted_ns = 0.0
        self._counts_taken = self._began
        self.n_points = self.waited_ns = self.gathers_until = 0

    @property
    def point_ns(self) -> float:
        """What one boundary takes in all."""
        around_ns = max(AROUND_NS, self._point_ns - WARM_POINT_NS)
        return self._point_ns + around_ns + LATER_NS + (AMONG_THREADS_NS if self.has_threads else 0.0)

    @property
    def _recorded_ns(self) -> float:
        return self.n_points * self.point_ns + self._turns_ns

    @property
    def spent_ns(self) -> float:
        """What boundaries, generations and counted visits took so far."""
        return self._recorded_ns + self._counted_ns

    def counted(self, n_visits: int, n_turns: int, now: int) -> None:
        """Take in how many visits were only counted until now, generations among them."""
        between_ns = (now - self._counts_taken) / max(1, n_visits)
        self._counts_taken = now
        each_ns = COUNTED_NS + COLD_NS * math.sqrt(min(1.0, between_ns / COLD_AFTER_NS))
        self._counted_ns += n_visits * each_ns + n_turns * COUNTED_TURN_NS

    def timed(self, took_ns: int) -> None:
        """Take in the processor time of one boundary.

        What other threads spend meanwhile is taken off as well, so that it may seem to have taken less than nothing.
        """
        if self._n_timed >= MOST_TIMED:
            self._timed_ns, self._n_timed = self._timed_ns / 2, self._n_timed // 2
        self._timed_ns += max(took_ns, self._point_ns / 4)
        self._n_timed += 1
        self._point_ns = self._timed_ns / self._n_timed

    def turn_timed(self, took_ns: int) -> None:
        """Take in the processor time of the records of one generation, boundaries included, measuring excluded."""
        self._turns_ns += took_ns
        self._turn_ns += 0.1 * (min(took_ns, 4 * self._turn_ns) - self._turn_ns)

    def next_counts(self, now: int, took_ns: int, *, has_file: bool) -> int:
        """Return when counts are to be written again, after ``took_ns`` were spent on it."""
        least = SHORTEST_NS if has_file else UNWRITTEN_NS
        return now + max(least, int(took_ns / (self._part / RECORDING_PART * WRITING_PART)))

    def next_due(self, now: int, n_labels: int) -> int:
        """Return when the next visit of a label that is recorded now is to be recorded."""
        return self._due_with(self._room_ns(now), now, n_labels) if self.is_bounded else 0

    def admits(self, label: Visited, now: int, n_labels: int) -> bool:
        """Tell whether a visit that is due is recorded, and say when the label's next one is due.

        The first of a label always is.  Later ones are only counted while much more was spent than there was room for:
        a program with a thousand labels has done so before it has passed each of them once.
        """
        if not self.is_bounded:
            return True
        if label.due < 0:
            label.due += 1
            return True
        room = self._room_ns(now)
        label.due = self._due_with(room, now, n_labels)
        self.gathers_until = max(self.gathers_until, label.due)
        return room >= -CREDIT_NS or label.number < 0

    def has_room_for(self, n: int) -> bool:
        """Tell whether so many boundaries may be recorded though visits are gathered: what they take is saved later."""
        return self._room_ns(self._clock()) - n * self.point_ns >= -MOST_DEBT_NS

    def _room_ns(self, now: int) -> float:
        """What may be spent on boundaries: what counting takes is taken off, up to half of it."""
        earned = self._part * (now - self._began - self.waited_ns)
        return CREDIT_NS + earned - min(earned / 2, self._counted_ns) - self._recorded_ns

    def _due_with(self, room: float, now: int, n_labels: int) -> int:
        if room > RESERVE_NS and self.n_points < FULL_DETAIL:
            return 0
        wait = (2 * self.point_ns * n_labels + self._turn_ns) / self._part
        if room < 0:
            wait *= 2
        return now + int(min(LONGEST_NS, max(SHORTEST_NS, wait)))
