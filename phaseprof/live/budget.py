"""The budget: which share of wall time measuring may take, what it took, and what it had no room for."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection

# Spent before any wall time has passed, so that short programs get a first look; the rest of the run pays for it by a
# share below the one allowed, so that a run of some seconds keeps within it; after half a minute that is paid off.
CREDIT_NS, STEADY = 16_000_000, 0.5
PAID_OFF_NS, LATER = 30_000_000_000, 0.8
# While memory in use rises and nobody is known to hold it.
HASTE = 0.65
# What looks may take of the share, and of the credit, whatever recording has taken: no constant cost may eat what a
# census is paid from.
FOR_LOOKS, CREDIT_FOR_LOOKS = 0.25, 0.5
# What a moment of ours costs the program, as a multiple of the processor time that it takes: what it pushes out of the
# caches, the program reads again.  Measured with profiling on and off in turns, on a quiet machine and on a busy one.
AFTER_EFFECTS = 1.05
# Of the budget, the part that is planned with: the rest is for what may be spent before any time has passed, and for
# jobs that take longer than the last time.
PLANNED = 0.6
# So many times as long code is expected to take while it is traced, of small steps that allocate, until it was traced.
EXPECTED_TIMES = 3.0
# Jobs that are part of recording, and do not count as looks.
RECORDING = frozenset({
    "points", "recording", "counters", "suspicion", "sampling", "births: counters",
    "limits", "malloc", "descriptors", "threads", "children", "child growth", "shared memory",
    "shared pages",
})  # fmt: skip


class Budget:
    """Admits a job if all that was spent, and the job's likely cost, fit into the share of wall time so far.

    Args:
        share: of wall time, for example 0.02; ``None`` admits everything.
        clock: nanoseconds, monotonic.
        cpu_clock: nanoseconds of processor time of the calling thread, in which costs are charged: on a busy machine
            others' work must not count for ours; by default ``clock``.
        after_effects: what is charged for each nanosecond that a job takes.
        max_pause_s: no job that is expected to keep the program waiting for longer is admitted while its loop runs.

    Attributes:
        is_urgent: memory leaks, as far as the counters tell, and it is not known where.
        left_ns: jobs that were refused for the pause they would have made, and how long it was expected to be.
        waited_ns: how long the program was ready to run and did not, since other programs had the processors: a share
            of that time is no time of its own.
        took_ns: the processor time of all jobs, without their after-effects.
        longest_pause: the longest time for which a job kept the program waiting, and the job.
    """

    def __init__(
        self,
        share: float | None,
        clock: Callable[[], int],
        *,
        cpu_clock: Callable[[], int] | None = None,
        after_effects: float = 1.0,
        max_pause_s: float = math.inf,
    ) -> None:
        self.share = share
        self.clock = clock
        self.max_pause_ns = math.inf if share is None else max_pause_s * 1e9
        self.is_urgent = False
        self.cpu_clock = cpu_clock or clock
        self._began = clock()
        self.after_effects = after_effects
        self.waited_ns = self.took_ns = 0
        self.spent_ns: defaultdict[str, int] = defaultdict(int)
        self.asked_ns: defaultdict[str, int] = defaultdict(int)
        self.skipped: Counter[str] = Counter()
        self.left_ns: dict[str, int] = {}
        self.longest_pause: tuple[int, str] = (0, "")
        self._inner_ns = 0
        self._is_asked = False
        self._last_ns: dict[str, int] = {}

    @property
    def total_ns(self) -> int:
        """All that was spent of the budget so far."""
        return sum(self.spent_ns.values())

    @property
    def constant_ns(self) -> int:
        """What recording and reading counters took, as distinct from looks."""
        return self.spent_on(RECORDING)

    @property
    def looks_ns(self) -> int:
        """What looks took."""
        return self.total_ns - self.constant_ns

    def spent_on(self, jobs: Collection[str]) -> int:
        """Return what some jobs took."""
        return sum(ns for job, ns in self.spent_ns.items() if job in jobs)

    @property
    def wall_ns(self) -> int:
        """Wall time since the profiler began, without that for which the program waited for a processor."""
        return self.clock() - self._began - self.waited_ns

    def room_ns(self) -> float:
        """How much may be spent on a look now; infinite without a bound."""
        if self.share is None:
            return float("inf")
        kept_for_looks = CREDIT_FOR_LOOKS * CREDIT_NS + FOR_LOOKS * self.share * self.wall_ns - self.looks_ns
        return max(CREDIT_NS + self.earned_ns(None) - self.total_ns, kept_for_looks)

    def whole_room_ns(self) -> float:
        """How much may be spent now if nothing of the share so far is kept for later; infinite without a bound."""
        return float("inf") if self.share is None else CREDIT_NS + self.share * self.wall_ns - self.total_ns

    def earned_ns(self, since: int | None) -> float:
        """What the share has come to since a moment, or since the profiler began; infinite without a bound."""
        if self.share is None:
            return float("inf")
        pace = HASTE if self.is_urgent else STEADY
        if since is not None:
            return pace * self.share * (self.clock() - since)
        return self.share * (pace * self.wall_ns + (LATER - pace) * max(0, self.wall_ns - PAID_OFF_NS))

    def estimate_ns(self, job: str, fallback_ns: int) -> int:
        """What ``job`` cost the last time, or ``fallback_ns`` if it never ran."""
        return self._last_ns.get(job, fallback_ns)

    def admits(self, job: str, fallback_ns: int = 1_000_000, *, debt_ns: int = 0) -> bool:
        """Tell whether a job fits now; a refusal is counted for the report.

        Args:
            job: name under which it is charged.
            fallback_ns: what it costs, as long as that was not measured.
            debt_ns: by how much it may overdraw, for a bounded job that cannot wait.
        """
        if not self.is_short(fallback_ns, job):
            return False
        if self.estimate_ns(job, fallback_ns) <= self.room_ns() + debt_ns:
            return True
        self.skipped[job] += 1
        return False

    def admits_tracing(self, job: str, look_ns: int, usual_ns: int, times: float = EXPECTED_TIMES) -> bool:
        """Tell whether there is room to trace what usually takes so long (0: not known), and to look at the end.

        ``times`` says how many times as long it is expected to take.
        """
        if self.share is None:
            return True
        if not usual_ns or not self.is_short(look_ns, job):
            return False
        if look_ns + (times - 1) * usual_ns <= self.room_ns():
            return True
        self.skipped[job] += 1
        return False

    def is_short(self, fallback_ns: int, job: str) -> bool:
        """Tell whether a job keeps the program waiting for no longer than a pause may last; one that does is noted."""
        cost_ns = self.estimate_ns(job, fallback_ns)
        if cost_ns > self.max_pause_ns:
            self.left_ns[job] = cost_ns
            if job in self._last_ns:  # it was slow once, or the heap was larger: some time it is tried again
                self._last_ns[job] = round(0.99 * cost_ns)
            return False
        return True

    def spending(self, job: str, *, asked: bool = False) -> Spending:
        """Charge the time of the block to ``job``, also when it fails; a block inside another is not charged twice.

        Args:
            job: name in the report of costs.
            asked: the user asked for it by name (a snapshot, a report): told, but not taken from the budget.
        """
        return Spending(self, job, asked)

    def begin(self, *, asked: bool) -> tuple[int, bool, int, int]:
        """Begin a block that is charged; ``end`` takes what is returned."""
        begun = self._inner_ns, self._is_asked, self.clock(), self.cpu_clock()
        # Last, and in one step: what a signal handler raises before it finds all as it was.
        self._inner_ns, self._is_asked = 0, asked or self._is_asked
        return begun

    def forget_open(self) -> None:
        """No block is open: one that was begun ended without a word, by what a signal handler raised on its way out."""
        self._inner_ns, self._is_asked = 0, False

    def end(self, job: str, begun: tuple[int, bool, int, int]) -> None:
        """Charge what a block took, without what blocks inside it did."""
        outer_inner, outer_asked, began, began_cpu = begun
        took = self.cpu_clock() - began_cpu
        pause = self.clock() - began
        if pause > self.longest_pause[0] and not self._is_asked:
            self.longest_pause = (pause, job)
        own = took - self._inner_ns
        if self._is_asked:
            self.asked_ns[job] += own
            self.took_ns += own
        else:
            self.charge(job, own)
        self._last_ns[job] = took if self._is_asked else round(self.after_effects * took)
        self._inner_ns, self._is_asked = outer_inner + took, outer_asked

    def charge(self, job: str, took_ns: int) -> None:
        """Charge time that was measured elsewhere, as by another thread."""
        self.spent_ns[job] += round(self.after_effects * took_ns)
        self.took_ns += took_ns


class Spending:
    """A block whose time is charged to a job; see :meth:`Budget.spending`.

    A class, since a generator's frame for each block would take more than some of the blocks.
    """

    __slots__ = ("_asked", "_begun", "_budget", "_job")

    def __init__(self, budget: Budget, job: str, asked: bool) -> None:
        self._budget, self._job, self._asked = budget, job, asked

    def __enter__(self) -> None:
        self._begun = self._budget.begin(asked=self._asked)

    def __exit__(self, *_: object) -> None:
        self._budget.end(self._job, self._begun)


class WholeTurns:
    """Admits what is read at every boundary for whole generations: changes in a part of one say little.

    Where there is no room for all boundaries, those of the outermost phases are read: the phases in them are not told
    apart then, and what each of the outermost changed is whole.

    Args:
        budget: whose share and clock count; what the job spends is charged there.
        job: name under which it is charged.
        part: of the budget's share that the job may take, whatever else was spent.
        credit_ns: what it may take before any wall time has passed, and overdraw within a generation.

    Attributes:
        is_outermost: whether only the boundaries of the outermost phases are read in this generation.
    """

    def __init__(self, budget: Budget, job: str, *, part: float, credit_ns: int) -> None:
        self._budget = budget
        self.job = job
        self._part = part
        self._credit_ns = credit_ns
        self._turn: int | None = None
        self._left_out: int | None = None
        self._taken: int | None = None
        self._n_whole = 0
        self._is_on = self._has_gap = False
        self.is_outermost = False
        self._n_read = self._n_seen = self._n_outermost = 0
        self._n_expected = self._n_outermost_expected = 1
        self._spent_before = 0
        self._each_ns: float | None = None  # until it was measured

    def expect(self, n: int, n_outermost: int) -> None:
        """Take in how many boundaries the next generation may have, if those are more than were seen of the last."""
        self._n_seen, self._n_outermost = max(self._n_seen, n), max(self._n_outermost, n_outermost)

    def admits(self, turn: int, *, is_outermost: bool = True) -> bool:
        """Tell whether a boundary of this generation is read."""
        if turn == self._left_out:
            self._has_gap = True
            return False
        if self._budget.share is None:
            return True
        if turn != self._turn:
            self._begin(turn)
        elif self._each_ns is None and self._n_read:
            self._settle()
        self._n_seen += 1
        self._n_outermost += is_outermost
        if self._is_on and self.is_outermost and not is_outermost:
            return False
        self._is_on = self._is_on and (self._each_ns or 0.0) <= self._room_ns() + self._credit_ns
        self._n_read += self._is_on
        self._has_gap = self._has_gap or not self._is_on
        return self._is_on

    def _begin(self, turn: int) -> None:
        if self._n_read:  # the mean of a generation: one slow reading must not switch the rest off
            self._each_ns = (self._budget.spent_ns[self.job] - self._spent_before) / self._n_read
        self._n_whole += self._is_on and self._turn != self._taken
        self._turn, self._spent_before = turn, self._budget.spent_ns[self.job]
        self._n_expected, self._n_outermost_expected = max(1, self._n_seen), max(1, self._n_outermost)
        self._n_seen = self._n_read = self._n_outermost = 0
        self._choose()

    def _settle(self) -> None:
        """Choose anew: what a reading takes is known from the first."""
        self._each_ns = (self._budget.spent_ns[self.job] - self._spent_before) / self._n_read
        self._choose()

    def _choose(self) -> None:
        """Read all boundaries of a generation, or those of the outermost phases, or none."""
        each, room = self._each_ns or 0.0, self._room_ns()
        self.is_outermost = each * self._n_expected > room
        self._is_on = not self.is_outermost or each * self._n_outermost_expected <= room

    def leave_out(self, turn: int) -> None:
        """Read nothing more in a generation, whose changes would not be the program's."""
        self._left_out = turn
        self._is_on, self._has_gap = False, True

    def was_whole(self, turn: int) -> bool:
        """Tell whether every boundary of a generation so far was read."""
        if turn == self._left_out:
            return False
        if self._each_ns is None and self._n_read:
            self._settle()
        return self._budget.share is None or (self._turn == turn and self._is_on)

    def take_whole(self) -> int:
        """Return of how many generations every boundary so far was read since this was last asked; 1 at least."""
        n = self._n_whole + (self._is_on and self._turn != self._taken)
        self._n_whole, self._taken = 0, self._turn
        return max(1, n)

    def take_gap(self) -> bool:
        """Tell whether boundaries went unread since this was last asked."""
        had_gap, self._has_gap = self._has_gap, False
        return had_gap

    def _room_ns(self) -> float:
        share = self._budget.share or 0.0
        return self._credit_ns + self._part * share * self._budget.wall_ns - self._budget.spent_ns[self.job]
