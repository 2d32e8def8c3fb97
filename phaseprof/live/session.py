"""One profiler's running state: where scopes report to, and what happens at the end of a generation."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable

from phaseprof.errors import ExpectationError, PhaseprofError
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.arguments import check_label
from phaseprof.live.budget import AFTER_EFFECTS, PLANNED, Budget
from phaseprof.live.closing import ClosingLook
from phaseprof.live.devices import Devices
from phaseprof.live.dying import LastLook
from phaseprof.live.following import VISITS, Following, owner_of
from phaseprof.live.hooks import Hooks
from phaseprof.live.inspector import Inspector
from phaseprof.live.log_lines import log_generation
from phaseprof.live.loops import OpenEnd, shown_index
from phaseprof.live.marks import Marks, end_stale
from phaseprof.live.open_visits import OpenVisits
from phaseprof.live.origin import written_at
from phaseprof.live.recorder import MAX_LABELS, OVERFLOW, Recorder
from phaseprof.live.rounds import Rounds
from phaseprof.live.sampler import Sampler, flush, marks_nothing, start_sampler
from phaseprof.live.scopes import CheckpointScope, CountedScope, GenerationScope, Items
from phaseprof.live.settings import Settings
from phaseprof.live.suspects import AT
from phaseprof.live.tracking import TrackList
from phaseprof.live.violations import act_on, describe
from phaseprof.live.visits import FIRST_TURNS, SHORTEST_NS, TIMED_EVERY, Pace, Visit, Visited, name_of, take_counts
from phaseprof.live.warn import warn_user
from phaseprof.live.watching import Expected, Watched, WatchList
from phaseprof.probes import own
from phaseprof.probes.run_queue import RunQueue
from phaseprof.recording import format as fmt

Mark = tuple[Visited, Visited, CountedScope]
ROLES = (*VISITS, "generation")


class Session:
    """Records what scopes report, and measures at the end of each generation.

    Nothing in here raises into the program but ``UsageError`` for an argument, and ``ExpectationError`` where asked.
    What the program raises meanwhile, a handler's timeout or Ctrl-C, goes on to it; what was begun is ended first.

    Args:
        settings: what may be done, and where it is written.
        clock: nanoseconds, monotonic.
    """

    def __init__(self, settings: Settings, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.settings = settings
        self.enabled = settings.enabled
        self.watches = WatchList()
        self.tracked = TrackList(self.warn)
        self.clock = clock
        self.on_report: Callable[[], None] | None = None
        self.hooks = Hooks(self.warn)
        self.counts_due = 0
        self._stack = OpenVisits(lambda: self.recorder.leave_all())  # noqa: PLW0108 - that of then
        self.is_open = self._stack.is_open
        self._visited: dict[str, dict[str, Visited]] = {role: {} for role in ROLES}
        self._turns = self.visited("generation", "generation")
        self._warned: set[str] = set()
        self._owner = threading.get_ident()
        self._outside: Visit | None = None
        self.open_end = OpenEnd(self.make_generation)
        self.marks: weakref.WeakSet[OpenEnd | Marks] = weakref.WeakSet([self.open_end])
        self._forget_turns()
        self._start(lazy=False)
        _sessions.add(self)

    def restart(self, settings: Settings) -> None:
        """Begin a new recording under other settings; phases, watched classes and tracked names stay.

        Raises:
            UsageError: the new run cannot be written; nothing is recorded from then on.
        """
        self.close("configured anew")
        self.settings = settings
        self._forget_turns()
        self._start(lazy=False)
        self.enabled = settings.enabled

    def _forget_turns(self) -> None:
        self._declared = self._is_turn_recorded = False
        # The scope of the generation that is open, if it still exists.
        self._turn: weakref.ref[GenerationScope] | None = None
        self._made: weakref.ref[GenerationScope] | None = None
        self._rounds = Rounds(self.settings.min_generation_s)
        for one in list(self.marks):
            one.forget()
        self._n_reports = 0

    def _start(self, *, lazy: bool) -> None:
        self.recorder = Recorder(self.settings, self.clock, self.warn, lazy=lazy)
        self.devices = Devices(self.clock, self.warn)
        self._cpu_clock = time.thread_time_ns if self.clock is time.perf_counter_ns else self.clock
        share = self.settings.budget
        self.budget = Budget(
            None if share is None else PLANNED * share,
            self.clock,
            cpu_clock=self._cpu_clock,
            after_effects=AFTER_EFFECTS if self.clock is time.perf_counter_ns else 1.0,
            max_pause_s=self.settings.max_pause,
        )
        self._queue = RunQueue()
        self.pace = Pace(share, self.clock)
        for labels in self._visited.values():
            for label in labels.values():
                label.forget()
        self.inspector = Inspector(
            self.settings, self.recorder, self.budget, watches=self.watches, tracked=self.tracked, devices=self.devices
        )
        self.following = Following(self.inspector, self._visited, self.pace, self.clock)
        self._marks: dict[str, Mark] = {}
        own.register(self)
        self._turn_began, self._turn_cpu_ns, self._ordinal = 0, 0, -1
        self._looked_at: tuple[int, int] | None = None
        self.last_look = LastLook(self, is_asked=self.settings.enabled and not lazy)
        # A forked child has no sampling thread: it did not ask for one, and most children live for moments.
        every_s = self.settings.sample_every_s if self.settings.enabled and not lazy else None
        self.sampler: Sampler | None = start_sampler(self.recorder, self.budget, every_s, self.warn)
        for entry in self.watches.entries.values():
            self.recorder.add(fmt.Watch(entry.name, entry.low, entry.high))

    @property
    def is_begun(self) -> bool:
        """Whether a recording waits for its end: it goes on, or was switched off, or its end was interrupted."""
        return self.enabled or (self.recorder.n_points > 0 and not self.recorder.is_closed)

    def watch(self, target: type | str, expected: Expected) -> None:
        """Watch a class; see ``Profiler.watch``."""
        entry = self.watches.add(target, expected)
        if self.enabled:
            self.recorder.add(fmt.Watch(entry.name, entry.low, entry.high))

    def look_for_devices(self) -> None:
        """Read accelerators at every point from now on, if the program has come to use one."""
        if self.recorder.read_devices is None and self.devices.look():
            self.recorder.read_devices = self.devices

    @property
    def ordinal(self) -> int:
        """Ordinal of the current generation, -1 before the first."""
        return self._ordinal

    # --- boundaries -------------------------------------------------------------------------------------------------

    def visited(self, name: str, role: str) -> Visited:
        """Return the counter of a label's visits; beyond ``MAX_LABELS`` of a role, labels share one."""
        labels = self._visited[role]
        found = labels.get(name)
        if found is None:
            if len(labels) >= MAX_LABELS:
                name = OVERFLOW
            found = labels.setdefault(name, Visited(name, role))
        return found

    def enter(self, label: Visited, now: int) -> Visit:
        """A phase or block begins: record the boundary, then let the inspector look if it wants to."""
        around = self._stack.innermost()
        is_recorded = now >= label.due
        visit: Visit = ([object()], around, label, is_recorded)
        try:
            self._stack.set(visit)
            # Before the boundary is recorded: meanwhile other threads run, and theirs need not be recorded as well.
            pace, was_due = self.pace, label.due
            if is_recorded and pace.is_bounded and not pace.admits(label, now, self._n_labels):
                is_recorded = False
                visit = (visit[0], around, label, False)
                self._stack.set(visit)
            if not is_recorded:
                label.count()
                return visit
            number = label.number
            if number < 0:
                number = self._first_number_of(label, around)
            if around is None and not self._declared and label.role == "phase":
                self._maybe_turn(number, now)
            if self.sampler is not None:
                self.sampler.opened(label.name)
            weight = -1.0
            if was_due:
                weight = float(label.take_weight())
            pace.n_points = n = pace.n_points + 1
            if n % TIMED_EVERY and not self.inspector.looks_at_boundaries:
                self.recorder.point(number, fmt.ENTER, weight, now)
            else:
                self._record_closely(number, fmt.ENTER, weight, owner_of(around), around, now)
        except BaseException as error:  # noqa: BLE001 - what is the program's is raised anew
            self._stack.set(around)
            self._stack.tear()
            self._pass_on(error)
        return visit

    def leave(self, visit: Visit, items: float) -> None:
        """A phase or block ends; what was left open inside it, by an exception in our own code, ends with it."""
        _, around, label, is_recorded = visit
        try:
            self._stack.leave(visit)
            if not is_recorded:
                label.add_items(items)
                return
            if self.sampler is not None:
                self.sampler.closed(label.name)
            if not self.enabled:
                return
            number = label.number
            if number < 0:
                number = self._number_of(label)
            pace = self.pace
            pace.n_points = n = pace.n_points + 1
            if n % TIMED_EVERY and not self.inspector.looks_at_boundaries:
                self.recorder.point(number, fmt.EXIT, items)
            else:
                self._record_closely(number, fmt.EXIT, items, label.name, around)
        except BaseException as error:  # noqa: BLE001 - what is the program's is raised anew
            self._stack.tear()
            self._pass_on(error)

    def _record_closely(
        self, number: int, edge: int, items: float, owner: str | None, around: Visit | None, now: int = 0
    ) -> None:
        """Record a boundary of those that are timed or looked at; ``owner`` is whose the time before it is."""
        is_timed = self.pace.n_points % TIMED_EVERY == 0
        began, looked = self._cpu_clock() if is_timed else 0, self.budget.took_ns
        self.recorder.point(number, edge, items, 0 if is_timed else now)
        self.following.at_boundary(owner, is_outermost=around is self._outside, number=number, edge=edge)
        if is_timed:
            self.pace.timed(self._cpu_clock() - began - (self.budget.took_ns - looked))

    def point(self, name: str) -> CheckpointScope | CountedScope:
        """A checkpoint is passed; what is returned records the block, if it is one."""
        try:
            point, block, counted = self._marks.get(name) or self._make_mark(name)
            now = self.clock()
            if now < point.due:
                point.count()
                if now >= self.counts_due:
                    self.write_counts(now)
                return counted
            pace = self.pace
            if pace.is_bounded and not pace.admits(point, now, self._n_labels):
                point.count()
                return counted
            around = self._stack.innermost()
            number = point.number if point.number >= 0 else self._first_number_of(point, around)
            if around is None and not self._declared:
                self._maybe_turn(number, now)
            pace.n_points = n = pace.n_points + 1
            if n % TIMED_EVERY and not self.inspector.looks_at_boundaries:
                self.recorder.point(number, fmt.POINT, -1.0, now)
            else:
                self._record_closely(number, fmt.POINT, -1.0, name_of(around) or name, around, now)
            return CheckpointScope(self, block)
        except BaseException as error:  # noqa: BLE001 - what is the program's is raised anew
            check_label("label", name, "checkpoint('encoder')")  # only now: a label that is known costs nothing
            self._pass_on(error)
        return CheckpointScope(self, self.visited(name, "block"))

    def _make_mark(self, name: str) -> Mark:
        """What a checkpoint counts, its points and the blocks that it may begin, and what it returns for these."""
        check_label("label", name, "checkpoint('encoder')")
        block = self.visited(name, "block")
        mark = (self.visited(name, "checkpoint"), block, CountedScope(block))
        if len(self._marks) < MAX_LABELS:
            self._marks[name] = mark
        return mark

    @property
    def _n_labels(self) -> int:
        return len(self.recorder.model.labels)

    def _first_number_of(self, label: Visited, around: Visit | None) -> int:
        """Declare a label, and those of the visits around it; to write it takes longer than to write a boundary."""
        began = self._cpu_clock()
        number = self._number_of(label, around)
        self.budget.charge("recording", self._cpu_clock() - began)
        return number

    def _number_of(self, label: Visited, around: Visit | None = None) -> int:
        if label.number < 0:
            label.is_inner = around is not None and around is not self._outside
            parent = -1 if around is None or around[2] is label else self._number_of(around[2], around[1])
            label.number = self.recorder.label(label.name, label.role, label.site or written_at(), parent)
        return label.number

    def write_counts(self, now: int) -> None:
        """Write how many visits of each label were counted since the last time, and what work they did."""
        began = self._cpu_clock()
        try:
            self.counts_due = now + SHORTEST_NS  # another thread need not do it as well
            labels = [label for known in self._visited.values() for label in list(known.values())]
            visits, items = take_counts(labels, self._number_of)
            if visits:
                self.pace.counted(sum(visits.values()), visits.get(self._turns.number, 0), now)
                self.recorder.count(fmt.Visits(now, self._ordinal, visits, items))
        except BaseException as error:  # noqa: BLE001 - what is the program's is raised anew
            self._pass_on(error)
        took = self._cpu_clock() - began
        self.budget.charge("recording", took)
        self.counts_due = self.pace.next_counts(now, took, has_file=self.recorder.folder is not None)

    @property
    def current_phase(self) -> str | None:
        """The innermost recorded phase of the calling thread or task."""
        return name_of(self._stack.get())

    # --- generations ------------------------------------------------------------------------------------------------

    def make_generation(self, index: int | str | None, items: Items) -> GenerationScope:
        """Return the scope of a generation; the one made before must have been entered."""
        self._warn_if_not_entered()
        scope = GenerationScope(self, index, items)
        self._made = weakref.ref(scope)
        return scope

    def _warn_if_not_entered(self) -> None:
        # Not when the scope dies: what a signal handler raises in a finalizer never reaches the program.
        if self._made is not None and self._made() is None:
            self._made = None
            self.warn("generation(...) was called but not entered, so it marks nothing; write with generation(g):")

    def begin_generation(self, scope: GenerationScope, index: int | str | None) -> bool:
        """A declared turn begins; one inside another, or beside it in another thread, does not count."""
        self._made = None if self._made is not None and self._made() is scope else self._made
        # One whose end was lost, to an exception on its way out, is open no more: its scope is gone.
        if self.in_generation and not end_stale(self.marks):
            self.warn("a generation inside or beside another is not counted; use profile_phase for inner loops")
            return False
        self._turn = weakref.ref(scope)
        self._declared = True  # turns that were implied keep their ordinals: no reading seems to go back in time
        try:
            self._next_turn()
            self._outside = self._stack.innermost()
            now = self.clock()
            every = self.settings.report_every  # a report names its turn, which is recorded however short it is
            is_wanted = self._ordinal < FIRST_TURNS or bool(every and (self._ordinal + 1) % every == 0)
            self._is_turn_recorded = is_wanted or now >= self._turns.due
            if self._is_turn_recorded:
                self._begin(index, now)
            else:
                self.following.pass_over()
                self._turns.count()
                if now >= self.counts_due:
                    self.write_counts(now)
        except BaseException as error:  # noqa: BLE001 - what is the program's is raised anew
            turn, self._turn = self._turn, None  # what is the program's goes on to it, and the turn has not begun
            self._pass_on(error)
            self._turn = turn
        return True

    @property
    def in_generation(self) -> bool:
        """Whether a generation is open."""
        return self._turn is not None and self._turn() is not None

    def _next_turn(self) -> None:
        if self.sampler is not None:
            self.sampler.catch_up()
        self._ordinal = self.recorder.generation = self._ordinal + 1

    def _begin(self, index: int | str | None, now: int) -> None:
        self._turn_began = now
        began = self._cpu_clock()
        self._turns.due = self.pace.next_due(now, self._n_labels)
        self.look_for_devices()
        self.recorder.add(fmt.GenerationBegin(now, self._ordinal, shown_index(index, self._ordinal)))
        self.recorder.point(self._number_of(self._turns), fmt.ENTER)
        self._turn_cpu_ns = self._cpu_clock() - began
        self.following.begin(self._ordinal)

    def end_generation(self, items: float, *, failed: bool) -> None:
        """A declared turn ends: record it, then measure what the budget has room for."""
        broken: list[Watched] = []
        self._turn = None
        try:
            if not self.enabled:
                return
            if not self._is_turn_recorded:
                self._turns.add_items(items)
                self._leave_turn()
                return
            self._end(items)
            if not failed:
                broken = self._measure()
                self._report_if_due()
                log_generation(self.recorder.fold, self.recorder.model)
                self.hooks.tell(self._ordinal, self.budget)
        except BaseException as error:  # noqa: BLE001 - what is the program's is raised anew
            self._pass_on(error)
        if broken and not failed:
            self._act_on(broken)

    def _end(self, items: float) -> None:
        self.following.end(self._stack.get())
        began = self._cpu_clock()
        self._leave_turn()
        self.recorder.point(self._number_of(self._turns), fmt.EXIT)
        now = self.clock()
        self.recorder.add(fmt.GenerationEnd(now, self._ordinal, (now - self._turn_began) / 1e9, items))
        self.pace.turn_timed(self._turn_cpu_ns + self._cpu_clock() - began)
        if now >= self.counts_due - SHORTEST_NS // 2:  # what that needs is in the processor's caches now
            self.write_counts(now)

    def _leave_turn(self) -> None:
        """End the visits that the turn left open; a turn that is no block may have outlived what it began in."""
        self._stack.go_back_to(self._outside)
        self._outside = None

    def _measure(self) -> list[Watched]:
        began = self._cpu_clock()
        self.budget.forget_open()
        self.budget.waited_ns = self.pace.waited_ns = self._queue.waited_ns()
        self.pace.has_threads = self.recorder.has_threads
        self.budget.spent_ns["points"] = round(self.budget.after_effects * self.pace.spent_ns)
        before = self.budget.took_ns
        broken = self.inspector.at_generation_end(self._ordinal)
        self.last_look.at_generation_end()
        if peaks := self.sampler.take_peaks() if self.sampler is not None else {}:
            self.recorder.add(fmt.Metrics(self.clock(), self._ordinal, peaks))
        for entry in broken:
            phase, since = self.inspector.phase_of(entry.name) or "", -1 if entry.since is None else entry.since
            self.recorder.add(
                fmt.Violation(self.clock(), self._ordinal, entry.name, entry.count, entry.low, entry.high, phase, since)
            )
        # What lies between the jobs takes a third of what the cheap ones do.
        self.budget.charge("recording", max(0, self._cpu_clock() - began - self.budget.took_ns + before))
        return broken

    def _report_if_due(self) -> None:
        every = self.settings.report_every
        if every is None or self.on_report is None:
            return
        n_due = (self._ordinal + 1) // every
        is_due, self._n_reports = n_due > self._n_reports, n_due
        if is_due or self._ordinal == 0:  # what the first report compares with
            self.inspector.size_for_report(self._ordinal)
        if is_due:
            self.on_report()

    def _maybe_turn(self, number: int, now: int) -> None:
        """Where no generation is declared, one ends when an outermost phase comes round again, after half a second."""
        if threading.get_ident() != self._owner or number >= MAX_LABELS:
            return
        if self._ordinal < 0:
            self._ordinal = self.recorder.generation = 0
        if self._rounds.go_on(number, now):
            return
        text = self._rounds.next(number, now)
        if text:
            self.recorder.note(text)
        self.following.end(self._stack.get())
        self._act_on(self._measure())
        self._report_if_due()
        self._next_turn()
        self.look_for_devices()
        self.following.begin(self._ordinal)

    # --- what a broken expectation does -------------------------------------------------------------------------------

    def _act_on(self, broken: list[Watched]) -> None:
        action = self.settings.on_violation
        if broken and action != "report":
            act_on("; ".join(map(self._describe, broken)), action, self.warn)

    def _describe(self, entry: Watched) -> str:
        number_of = self.recorder.model.number_of
        since = number_of(entry.since or 0)
        return describe(entry, self.inspector.phase_of(entry.name), number_of(self._ordinal), since)

    # --- failures, forks, the end -------------------------------------------------------------------------------------

    def warn(self, text: str, detail: str = "") -> None:
        """Tell the user once, and the recording, which does not keep ``detail``: an exception's text may quote data."""
        if text in self._warned or len(self._warned) > 100:
            return
        self._warned.add(text)
        recorder: Recorder | None = getattr(self, "recorder", None)
        if recorder is not None and not recorder.is_closed:
            recorder.note(text)
        warn_user(text + detail)

    def _pass_on(self, error: BaseException) -> None:
        """Raise what is the program's; an error of ours is told once, and the recording goes on without what failed."""
        try:
            raise_the_programs(error)
            if isinstance(error, ExpectationError):
                raise error
            if isinstance(error, PhaseprofError):
                self.warn(f"a reading failed and is missing ({error})")
            else:
                self.warn(f"a reading failed and is missing ({type(error).__name__})", f": {error}")
        finally:
            del error  # else it holds this frame, which holds it, and with it all frames of the program

    def after_fork(self) -> None:
        """In a forked child: a file and a model of its own, opened when it first records something."""
        self._owner = threading.get_ident()
        self._forget_turns()
        self.inspector.abandon()
        self.recorder.abandon()
        if self.sampler is not None:
            self.sampler.abandon()
        self._start(lazy=True)

    def finish(self, *, is_asked: bool = True) -> None:
        """Complete what waits, because findings are asked for; never raises, and looks once at what is recorded."""
        for one in list(self.marks):
            one.close()
        by_clock = self._count_by_clock()
        looked_at = (0 if by_clock else self.recorder.n_boundaries, self._ordinal)
        if looked_at == self._looked_at:
            return
        self._looked_at = looked_at
        try:
            self._warn_if_not_entered()
            self.write_counts(self.clock())
            limit_s = float("inf") if self.settings.budget is None else self.settings.max_look
            look = ClosingLook(limit_s, self._cpu_clock)
            try:
                self.inspector.finish(look, is_asked=is_asked)
            finally:
                look.end()
            if look.left:
                self.recorder.note(look.describe_left())
            for missing in self.watches.missing():
                self.recorder.add(missing)
            if self.sampler is not None:
                flush(self.sampler, self.recorder)
            if self.enabled:
                self.recorder.add(self.inspector.cost(self._ordinal))
        except Exception as error:  # noqa: BLE001 - asking for findings must not end a run either
            self._pass_on(error)

    def _count_by_clock(self) -> bool:
        """Give a program that marks nothing generations by the clock, so that it gets a verdict; tell if it is one."""
        if self.sampler is None or not marks_nothing(self.recorder):
            return False
        turns = self.sampler.turns
        last = self.sampler.take_turns(at=AT, first=self._ordinal + 1)
        if last > self._ordinal:
            self._ordinal = self.recorder.generation = last
            self.inspector.read_counters(last, collected=turns.was_collected())
            tick_s = turns.tick_ns / 1e9
            self.recorder.note(f"no phase or generation was marked: each {tick_s:g} s of the run is a generation")
        return True

    def close(self, reason: str = "closed") -> None:
        """End the recording; later boundaries are not recorded."""
        if not self.enabled and self.recorder.is_closed:
            return
        # Who reads the file later must find what whoever asks here and now is told.
        if self.enabled and self.recorder.n_points:
            self.finish(is_asked=False)
        self.enabled = False
        try:
            self.hooks.end()
            self.write_counts(self.clock())
            if self.sampler is not None:
                self.sampler.close()
                flush(self.sampler, self.recorder)
                self.sampler = None
            self.inspector.close()
            self.last_look.end()
            self.recorder.add(self.inspector.cost(self._ordinal))
        except Exception as error:  # noqa: BLE001 - the end of a recording must not be the end of a run
            self._pass_on(error)
        self.recorder.close(reason)


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def close_all(reason: str) -> None:
    """Close every recording that is still open."""
    for session in [session for session in _sessions if session.is_begun]:
        session.close(reason)


def _after_fork_in_child() -> None:
    for session in [session for session in _sessions if session.is_begun]:
        session.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
