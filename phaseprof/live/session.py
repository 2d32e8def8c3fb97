"""One profiler's running state: where scopes report to, and what happens at the end of a generation."""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from contextvars import ContextVar

from phaseprof.errors import ExpectationError, PhaseprofError, PhaseprofWarning
from phaseprof.live.budget import Budget
from phaseprof.live.closing import LIMIT_S
from phaseprof.live.devices import Devices
from phaseprof.live.inspector import Inspector
from phaseprof.live.recorder import MAX_LABELS, Recorder, clean_text, not_a_label
from phaseprof.live.sampler import Sampler, flush, start_sampler
from phaseprof.live.scopes import CheckpointScope
from phaseprof.live.settings import Settings
from phaseprof.live.stack import without_last
from phaseprof.live.tracking import TrackList
from phaseprof.live.warn import users_level, warn_user
from phaseprof.live.watching import Expected, Watched, WatchList
from phaseprof.probes import own
from phaseprof.recording import format as fmt

# What a point costs, for the budget: measured, so that no clock is read a third time at every point.
POINT_NS = 4500


class Session:
    """Records what scopes report, and measures at the end of each generation.

    Nothing in here raises into the training program, except ``ExpectationError`` where ``on_violation="raise"`` asks
    for it at the end of a generation.

    Args:
        settings: what may be done, and where it is written.
        clock: nanoseconds, monotonic.
    """

    def __init__(self, settings: Settings, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.settings = settings
        self.enabled = settings.enabled
        self.watches = WatchList()
        self.tracked = TrackList()
        self.clock = clock
        self.on_report: Callable[[], None] | None = None
        self._stack: ContextVar[tuple[str, ...]] = ContextVar("phaseprof_phases", default=())
        self._warned: set[str] = set()
        self._declared = False
        self._owner = threading.get_ident()
        self._seen_this_turn: set[int] = set()
        self._in_generation = False
        self._outside: tuple[str, ...] = ()
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
        self._declared = False
        self._in_generation = False
        self._seen_this_turn.clear()

    def _start(self, *, lazy: bool) -> None:
        self.recorder = Recorder(self.settings, self.clock, self.warn, lazy=lazy)
        self.devices = Devices(self.clock, self.warn)
        self.budget = Budget(self.settings.budget, self.clock)
        self.inspector = Inspector(
            self.settings, self.recorder, self.budget, watches=self.watches, tracked=self.tracked, devices=self.devices
        )
        self._marks: dict[str, tuple[int, CheckpointScope]] = {}
        own.register(self)
        self._generation_began = 0
        self._ordinal = -1
        self._looked_at: tuple[int, int] | None = None
        # A forked child has no sampling thread: it did not ask for one, and most children live for moments.
        every_s = self.settings.sample_every_s if self.settings.enabled and not lazy else None
        self.sampler: Sampler | None = start_sampler(self.recorder, self.budget, every_s, self.warn)
        for entry in self.watches.entries.values():
            self.recorder.add(fmt.Watch(entry.name, entry.low, entry.high))

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

    def enter(self, name: str, role: str) -> None:
        """A phase or block begins: record the boundary, then let the inspector look if it wants to."""
        try:
            stack = self._stack.get()
            recorder = self.recorder
            label = recorder.label(name, role)
            if not stack and not self._declared and role == "phase":
                self._maybe_turn(label)
            self._stack.set((*stack, name))
            if self.sampler is not None:
                self.sampler.opened(name)
            recorder.point(label, fmt.ENTER)
            if self.inspector.looks_at_boundaries:
                self.inspector.at_boundary(stack[-1] if stack else None)
        except Exception as error:  # noqa: BLE001 - the training program never stops because of us
            self._fail(error)

    def leave(self, name: str, role: str, items: float, *, failed: bool) -> None:
        """A phase or block ends; what was left open inside it, by an exception in our own code, ends with it."""
        try:
            stack = self._stack.get()
            self._stack.set(stack[:-1] if stack and stack[-1] == name else without_last(stack, name))
            if self.sampler is not None:
                self.sampler.closed(name)
            if not self.enabled:
                return
            recorder = self.recorder
            recorder.point(recorder.label(name, role), fmt.EXIT, items)
            if self.inspector.looks_at_boundaries:
                self.inspector.at_boundary(name)
        except Exception as error:  # noqa: BLE001 - the training program never stops because of us
            self._fail(error)

    def point(self, name: str) -> CheckpointScope:
        """A checkpoint is passed; what is returned records the block, if it is one."""
        try:
            label, block = self._marks.get(name) or self._make_mark(name)
            if not self._declared and not self._stack.get():
                self._maybe_turn(label)
            self.recorder.point(label, fmt.POINT)
            if self.inspector.looks_at_boundaries:
                stack = self._stack.get()
                self.inspector.at_boundary(stack[-1] if stack else name)
            return block
        except Exception as error:  # noqa: BLE001 - the training program never stops because of us
            self._fail(error)
        return CheckpointScope(self, name)

    def _make_mark(self, name: str) -> tuple[int, CheckpointScope]:
        """The number of a checkpoint, and its scope, which holds nothing of a visit and so serves all of them."""
        if isinstance(name, str) and not name.strip():
            raise not_a_label(name)
        mark = (self.recorder.label(name, "checkpoint"), CheckpointScope(self, name))
        if len(self._marks) < MAX_LABELS:
            self._marks[name] = mark
        return mark

    @property
    def current_phase(self) -> str | None:
        """The innermost phase of the calling thread or task."""
        stack = self._stack.get()
        return stack[-1] if stack else None

    # --- generations ------------------------------------------------------------------------------------------------

    def begin_generation(self, index: int | str | None) -> bool:
        """A declared turn begins; one inside another, or beside it in another thread, does not count."""
        if self._in_generation:
            self.warn("a generation inside or beside another is not counted; use profile_phase for inner loops")
            return False
        self._in_generation = True
        try:
            # Turns that were implied before keep their ordinals, so that no reading seems to go back in time.
            self._declared = True
            self._begin(index)
        except Exception as error:  # noqa: BLE001 - the training program never stops because of us
            self._fail(error)
        return True

    def _begin(self, index: int | str | None) -> None:
        self._ordinal += 1
        self.recorder.generation = self._ordinal
        self._generation_began = now = self.clock()
        self._outside = self._stack.get()
        self.look_for_devices()
        self.recorder.add(fmt.GenerationBegin(now, self._ordinal, _shown(index, self._ordinal)))
        label = self.recorder.label("generation", "generation")
        self.recorder.point(label, fmt.ENTER)
        if self.inspector.looks_at_boundaries:
            self.inspector.at_boundary(None)

    def end_generation(self, items: float, *, failed: bool) -> None:
        """A declared turn ends: record it, then measure what the budget has room for."""
        broken: list[Watched] = []
        self._in_generation = False
        if not self.enabled:
            return
        try:
            if self.inspector.looks_at_boundaries:
                self.inspector.at_boundary(self.current_phase)
            self._stack.set(self._outside)
            label = self.recorder.label("generation", "generation")
            self.recorder.point(label, fmt.EXIT)
            now = self.clock()
            seconds = (now - self._generation_began) / 1e9
            self.recorder.add(fmt.GenerationEnd(now, self._ordinal, seconds, items))
            if not failed:
                broken = self._measure()
                self._report_if_due()
        except Exception as error:  # noqa: BLE001 - the training program never stops because of us
            self._fail(error)
        if broken and not failed:
            self._act_on(broken)

    def _measure(self) -> list[Watched]:
        self.budget.spent_ns["points"] = self.recorder.n_points * POINT_NS
        broken = self.inspector.at_generation_end(self._ordinal)
        peaks = self.sampler.take_peaks() if self.sampler is not None else {}
        if peaks:
            self.recorder.add(fmt.Metrics(self.clock(), self._ordinal, peaks))
        for entry in broken:
            phase, since = self.inspector.phase_of(entry.name) or "", -1 if entry.since is None else entry.since
            self.recorder.add(
                fmt.Violation(self.clock(), self._ordinal, entry.name, entry.count, entry.low, entry.high, phase, since)
            )
        return broken

    def _report_if_due(self) -> None:
        every = self.settings.report_every
        if every is None or self.on_report is None:
            return
        is_due = (self._ordinal + 1) % every == 0
        if is_due or self._ordinal == 0:  # what the first report compares with
            self.inspector.size_for_report(self._ordinal)
        if is_due:
            self.on_report()

    def _maybe_turn(self, label: int) -> None:
        """Where no generation is declared, a turn ends when an outermost phase comes round again."""
        if threading.get_ident() != self._owner or label >= MAX_LABELS:
            return
        if label in self._seen_this_turn:
            self._seen_this_turn.clear()
            if self._ordinal >= 0:
                self._act_on(self._measure_implied())
                self._report_if_due()
            self._ordinal += 1
            self.recorder.generation = self._ordinal
            self.look_for_devices()
        elif self._ordinal < 0:
            self._ordinal = self.recorder.generation = 0
        self._seen_this_turn.add(label)

    def _measure_implied(self) -> list[Watched]:
        """As at the end of a declared turn, but turns may be microseconds long: look only when there is room."""
        self.budget.spent_ns["points"] = self.recorder.n_points * POINT_NS
        if self.settings.budget is not None and not self.inspector.has_room():
            return []
        return self._measure()

    # --- what a broken expectation does -------------------------------------------------------------------------------

    def _act_on(self, broken: list[Watched]) -> None:
        action = self.settings.on_violation
        if not broken or action == "report":
            return
        text = "; ".join(self.describe(entry) for entry in broken)
        if action == "raise":
            raise ExpectationError(text)
        if action == "warn":
            warnings.warn(text, PhaseprofWarning, stacklevel=users_level())
            return
        if callable(action):
            try:
                action(text)
            except Exception as error:  # noqa: BLE001 - the user's callable must not stop the training
                self.warn(f"on_violation raised {type(error).__name__}: {error}")

    def describe(self, entry: Watched) -> str:
        """Say what was expected, what was found, since when, and in which phase."""
        phase = self.inspector.phase_of(entry.name)
        number_of = self.recorder.model.number_of
        where = f", born in phase {phase!r}" if phase else ""
        return (
            f"{entry.name}: expected {entry.expectation()}, found {entry.count} at the end of generation "
            f"{number_of(self._ordinal)}, broken since generation {number_of(entry.since or 0)}{where}"
        )

    # --- failures, forks, the end -------------------------------------------------------------------------------------

    def warn(self, text: str) -> None:
        """Tell the user once, and the recording."""
        if text in self._warned or len(self._warned) > 100:
            return
        self._warned.add(text)
        recorder: Recorder | None = getattr(self, "recorder", None)
        if recorder is not None and not recorder.is_closed:
            recorder.note(text)
        warn_user(text)

    def _fail(self, error: Exception) -> None:
        """An error of ours: told once, and the recording goes on without what failed."""
        if isinstance(error, ExpectationError):
            raise error
        what = f"{type(error).__name__}: {error}" if not isinstance(error, PhaseprofError) else str(error)
        self.warn(f"a reading failed and is missing ({what})")

    def after_fork(self) -> None:
        """In a forked child: a file and a model of its own, opened when it first records something."""
        self._owner = threading.get_ident()
        self._forget_turns()
        self.inspector.abandon()
        self.recorder.abandon()
        if self.sampler is not None:
            self.sampler.abandon()
        self._start(lazy=True)

    def finish(self, *, limit_s: float = float("inf")) -> None:
        """Complete what waits, because findings are asked for; never raises, and looks once at what is recorded."""
        looked_at = (self.recorder.n_points, self._ordinal)
        if looked_at == self._looked_at:
            return
        self._looked_at = looked_at
        try:
            self.inspector.finish(limit_s=limit_s)
            for missing in self.watches.missing():
                self.recorder.add(missing)
            if self.sampler is not None:
                flush(self.sampler, self.recorder)
            if self.enabled:
                self.recorder.add(self.inspector.cost(self._ordinal))
        except Exception as error:  # noqa: BLE001 - asking for findings must not end a run either
            self._fail(error)

    def close(self, reason: str = "closed") -> None:
        """End the recording; later boundaries are not recorded."""
        if not self.enabled and self.recorder.model.ended:
            return
        # Who reads the file later must find what whoever asks here and now is told.
        if self.enabled and self.recorder.n_points:
            self.finish(limit_s=LIMIT_S)
        self.enabled = False
        try:
            if self.sampler is not None:
                self.sampler.close()
                flush(self.sampler, self.recorder)
                self.sampler = None
            self.inspector.close()
            self.recorder.add(self.inspector.cost(self._ordinal))
        except Exception as error:  # noqa: BLE001 - the end of a recording must not be the end of a run
            self._fail(error)
        self.recorder.close(reason)


def _shown(index: object, ordinal: int) -> int | str:
    """The user's number or name for a turn, as a record can hold it."""
    if index is None:
        return ordinal
    if type(index) is int and -(2**63) <= index < 2**63:
        return index
    return clean_text(index if isinstance(index, str) else str(index))


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def close_all(reason: str) -> None:
    """Close every recording that is still open."""
    for session in [session for session in _sessions if session.enabled]:
        session.close(reason)


def _after_fork_in_child() -> None:
    for session in [session for session in _sessions if session.enabled]:
        session.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
