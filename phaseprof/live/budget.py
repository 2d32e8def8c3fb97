"""The budget: which share of wall time measuring may take, what it took, and what it had no room for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Spent before any wall time has passed, so that short programs get a first look; the rest of the run pays for it by a
# share below the one allowed, so that a run of some seconds keeps within it.
CREDIT_NS, STEADY = 25_000_000, 0.5
# While memory in use rises and nobody is known to hold it.
HASTE = 0.7
# What a reading at a boundary is taken to cost before the first.
FIRST_READING_NS = 50_000


class Budget:
    """Admits a job if all that was spent, and the job's likely cost, fit into the share of wall time so far.

    Args:
        share: of wall time, for example 0.02; ``None`` admits everything.
        clock: nanoseconds, monotonic.

    Attributes:
        is_urgent: memory leaks, as far as the counters tell, and it is not known where.
    """

    def __init__(self, share: float | None, clock: Callable[[], int]) -> None:
        self.share = share
        self.clock = clock
        self.is_urgent = False
        self._began = clock()
        self.spent_ns: defaultdict[str, int] = defaultdict(int)
        self.asked_ns: defaultdict[str, int] = defaultdict(int)
        self.skipped: Counter[str] = Counter()
        self._inner_ns = 0
        self._is_asked = False
        self._last_ns: dict[str, int] = {}

    @property
    def total_ns(self) -> int:
        """All that was spent of the budget so far."""
        return sum(self.spent_ns.values())

    @property
    def wall_ns(self) -> int:
        """Wall time since the profiler began."""
        return self.clock() - self._began

    def room_ns(self) -> float:
        """How much may be spent now; infinite without a bound."""
        if self.share is None:
            return float("inf")
        return CREDIT_NS + self.earned_ns(None) - self.total_ns

    def earned_ns(self, since: int | None) -> float:
        """What the share has come to since a moment, or since the profiler began; infinite without a bound."""
        if self.share is None:
            return float("inf")
        pace = HASTE if self.is_urgent else STEADY
        return pace * self.share * (self.clock() - (self._began if since is None else since))

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
        if self.estimate_ns(job, fallback_ns) <= self.room_ns() + debt_ns:
            return True
        self.skipped[job] += 1
        return False

    @contextmanager
    def spending(self, job: str, *, asked: bool = False) -> Iterator[None]:
        """Charge the time of the block to ``job``, also when it fails; a block inside another is not charged twice.

        Args:
            job: name in the report of costs.
            asked: the user asked for it by name (a snapshot, a report): told, but not taken from the budget.
        """
        outer_inner, self._inner_ns = self._inner_ns, 0
        outer_asked, self._is_asked = self._is_asked, asked or self._is_asked
        began = self.clock()
        try:
            yield
        finally:
            took = self.clock() - began
            (self.asked_ns if self._is_asked else self.spent_ns)[job] += took - self._inner_ns
            self._last_ns[job] = took
            self._inner_ns, self._is_asked = outer_inner + took, outer_asked

    def charge(self, job: str, took_ns: int) -> None:
        """Charge time that was measured elsewhere, as by another thread."""
        self.spent_ns[job] += took_ns


class WholeTurns:
    """Admits what is read at every boundary for whole generations: changes in a part of one say little.

    Args:
        budget: whose share and clock count; what the job spends is charged there.
        job: name under which it is charged.
        part: of the budget's share that the job may take, whatever else was spent.
        credit_ns: what it may take before any wall time has passed, and overdraw within a generation.
    """

    def __init__(self, budget: Budget, job: str, *, part: float, credit_ns: int) -> None:
        self._budget = budget
        self.job = job
        self._part = part
        self._credit_ns = credit_ns
        self._turn: int | None = None
        self._is_on = self._has_gap = False
        self._n_seen = self._n_read = 0
        self._spent_before = 0
        self._each_ns, self._n_expected = float(FIRST_READING_NS), 1

    def admits(self, turn: int) -> bool:
        """Tell whether a boundary of this generation is read."""
        if self._budget.share is None:
            return True
        room = self._room_ns()
        if turn != self._turn:
            self._begin(turn)
            self._is_on = self._each_ns * self._n_expected <= room
        self._n_seen += 1
        self._is_on = self._is_on and self._each_ns <= room + self._credit_ns
        self._n_read += self._is_on
        self._has_gap = self._has_gap or not self._is_on
        return self._is_on

    def _begin(self, turn: int) -> None:
        spent = self._budget.spent_ns[self.job]
        if self._n_read:  # the mean of a generation: one slow reading must not switch the rest off
            self._each_ns = (spent - self._spent_before) / self._n_read
        self._turn, self._n_expected, self._spent_before = turn, max(1, self._n_seen), spent
        self._n_seen = self._n_read = 0

    def was_whole(self, turn: int) -> bool:
        """Tell whether every boundary of a generation so far was read."""
        return self._budget.share is None or (self._turn == turn and self._is_on)

    def take_gap(self) -> bool:
        """Tell whether boundaries went unread since this was last asked."""
        had_gap, self._has_gap = self._has_gap, False
        return had_gap

    def _room_ns(self) -> float:
        share = self._budget.share or 0.0
        return self._credit_ns + self._part * share * self._budget.wall_ns - self._budget.spent_ns[self.job]
