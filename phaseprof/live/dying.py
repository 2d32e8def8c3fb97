"""The last look of a run that may not reach its end: near the memory limit, out of memory, or told to end."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.budget import Budget
from phaseprof.live.devices import Devices
from phaseprof.live.families import CounterReader
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.live.suspects import Suspects
from phaseprof.probes import own
from phaseprof.probes.cuda import dump_history
from phaseprof.probes.limits import LimitProbe, Limits
from phaseprof.probes.typeinfo import bare_name, mro, type_name
from phaseprof.recording import format as fmt
from phaseprof.recording.limits import LEFT, LIMIT, limits_in_use
from phaseprof.records import NEAR_LIMIT

if TYPE_CHECKING:
    from phaseprof.live.inspector import Inspector

# The memory that is kept back for the look, which takes 8 MiB for all of a heap of 60,000 objects.
RESERVE_BYTES = 16 << 20
SIGNALS = ("SIGTERM", "SIGUSR1")
# How often limits are read, and what is in use of one when no more looks are made at it.
_EVERY_NS, _FULL = 100_000_000, 0.999


class Dying(Protocol):
    """What may not reach its end: a session."""

    settings: Settings
    enabled: bool
    recorder: Recorder
    budget: Budget
    devices: Devices
    inspector: Inspector

    @property
    def in_generation(self) -> bool:
        """Whether a declared generation is open."""

    @property
    def ordinal(self) -> int:
        """Ordinal of the current generation."""

    @property
    def current_phase(self) -> str | None:
        """The innermost recorded phase."""

    def finish(self) -> None:
        """Complete what waits, and look once."""

    def close(self, reason: str) -> None:
        """End the recording."""

    def warn(self, text: str, detail: str = "") -> None:
        """Tell the user once."""


class LastLook:
    """Looks at once where a run may not live to its closing look: when it nears the limit, and when it ends early.

    Args:
        of: the session.
        is_asked: whether anything is to be done; if not, every call returns at once.

    Cost: addresses of 16 MiB, untouched, that are kept back, so that there is memory to look with when it has run out;
        each look takes at most ``max_look``, as a closing look does, and a snapshot of a device more.
    """

    def __init__(self, of: Dying, *, is_asked: bool) -> None:
        self._of = of
        self._is_asked = is_asked
        self._reserve = _keep_back() if is_asked else None
        self._was_out = False
        self._next_at = 0
        self._due: dict[str, float] = {}
        self._failed: tuple[int, str] = (0, "")
        self._before: dict[int, Any] = {}
        self._pid = os.getpid()
        if is_asked and of.settings.signals:
            self._take_signals()

    def at_generation_end(self) -> None:
        """Look when nine tenths of a limit are in use: what comes next may be the kill.

        Again when half of what was left then is gone, since a device may be as full as that from the start.
        """
        self._failed = (0, "")  # an exception that is gone may leave its number to another
        now = self._of.recorder.now()
        if not self._is_asked or now < self._next_at:
            return
        self._next_at = now + _EVERY_NS
        with self._of.budget.spending("counters"):
            limits = limits_in_use(self._read_limits())
        for one in limits.values():
            if self._due.get(one.device, NEAR_LIMIT) <= one.share < _FULL:
                self._due[one.device] = (1 + one.share) / 2
                of = f" of {one.device}" if one.device else ""
                self._look(f"{one.share:.0%} of the limit{of}", dumps=bool(one.device))

    def failed_in(self, phase: str, error: BaseException) -> None:
        """An exception left a phase; the first that it leaves is where it was raised."""
        if self._failed[0] != id(error):
            self._failed = (id(error), phase)
        if not self._of.in_generation:
            self.left_generation(error)

    def left_generation(self, error: BaseException) -> None:
        """A generation failed, or a phase where none is declared: look if memory has run out, while its frames live."""
        if self._failed[0] != id(error):
            self._failed = (id(error), "")
        if self._is_asked and not self._was_out and is_out_of_memory(type(error)):
            self._was_out = True
            is_of_device = not issubclass(type(error), MemoryError)
            self._look(type_name(type(error)), self._failed[1], ending=True, dumps=is_of_device)

    def _tell_what_ended_it(self) -> None:
        """Record the exception that left a generation, and after it the program: the interpreter keeps it then."""
        error, (failed, phase) = getattr(sys, "last_value", None), self._failed
        if self._is_asked and not self._was_out and error is not None and failed == id(error):
            of, cause = self._of, type_name(type(error))
            of.recorder.add(fmt.Dying(of.recorder.now(), of.ordinal, cause, phase, True, self._read_limits()))

    def _read_limits(self) -> dict[str, float]:
        """The limits and what is left of them, named as they are recorded.  Cost: 50 µs, and 30 a device."""
        devices = self._of.devices
        devices()
        figures = {metric: value for metric, value in devices.limits().items() if metric.endswith((LIMIT, LEFT))}
        limits = _nearest_limit(self._of.inspector.suspects)
        if limits is not None and limits.limit_bytes is not None and limits.available_bytes is not None:
            figures |= {LIMIT: float(limits.limit_bytes), LEFT: float(limits.available_bytes)}
        return figures

    def _look(self, cause: str, phase: str = "", *, ending: bool = False, dumps: bool = True) -> None:
        """Record where the program is, and look.

        Args:
            cause: as in the record.
            phase: in which it is; empty: the innermost that is open.
            ending: whether it is about to end.
            dumps: whether a device's snapshot is written where its history is recorded, which takes memory of the host.
        """
        of = self._of
        if ending:  # else there is memory to look with, and what is kept back is for later
            self._give_up_reserve()
        try:
            if of.enabled:
                where = phase or of.current_phase or ""
                of.recorder.add(fmt.Dying(of.recorder.now(), of.ordinal, cause, where, ending, self._read_limits()))
                of.finish()
                if dumps:
                    self._dump()
        except Exception as error:  # noqa: BLE001 - a look that fails must not hide why the run ends
            raise_the_programs(error)
            of.warn(f"the last look failed ({type(error).__name__})", f": {error}")

    def _dump(self) -> None:
        recorder = self._of.recorder
        header, folder = recorder.model.header, recorder.folder
        if header is None or folder is None or not folder.is_dir():  # an address is none
            return
        name = f"rank{header.rank}-pid{header.pid}-generation{max(0, self._of.ordinal)}.pickle"
        if dump_history(folder / name):
            recorder.note(f"what CUDA memory held then is in {name} beside the recording; phaseprof snapshots reads it")

    def _give_up_reserve(self) -> None:
        if self._reserve is not None:
            self._reserve.close()

    def _take_signals(self) -> None:
        """Look when the process is told to end or asked to look; a handler can be set by the main thread alone.

        What handled a signal before does so afterwards: SIGTERM ends the process as it would have.  A handler in Python
        runs between two steps of the interpreter, so a process that hangs in a library ends later than without.
        """
        if threading.current_thread() is threading.main_thread():
            for name in SIGNALS:
                number = getattr(signal, name, None)
                if number is not None:
                    self._before[number] = signal.signal(number, self._handle)

    def end(self) -> None:
        """Say what has ended the program, if anything; handle no more signals, where nobody has taken them since."""
        self._tell_what_ended_it()
        before, self._before, self._is_asked = self._before, {}, False
        self._give_up_reserve()
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                if signal.getsignal(number) == self._handle:
                    signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name, before = signal.Signals(number).name, self._before.get(number, signal.SIG_DFL)
        # A forked child has a recording of its own, and whoever ends it does not wait for a look.  In the middle of our
        # own code nothing more is looked at: what was seen so far is written.
        is_ours = os.getpid() == self._pid
        if is_ours and (frame is None or not own.is_own_frame(frame)):
            self._look(name, ending=number == signal.SIGTERM)
        if callable(before):
            before(number, frame)
        elif number == signal.SIGTERM and before == signal.SIG_DFL:
            if is_ours:
                self._of.close(name)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def _keep_back() -> mmap.mmap | None:
    """Take memory that nobody uses; Python runs out of it by its addresses, so that no page of it need be there."""
    flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    try:
        return mmap.mmap(-1, RESERVE_BYTES, **flags)
    except OSError:
        return None


def _nearest_limit(suspects: Suspects) -> Limits | None:
    """Read the limit of the process, by the probe that reads it for the recording."""
    reader = suspects.reader_of("limit_bytes")
    probe = reader.probe if type(reader) is CounterReader else None
    try:
        return probe.limits() if type(probe) is LimitProbe else None
    except ProbeUnavailable:
        return None


def is_out_of_memory(kind: type) -> bool:
    """Whether an exception's type says that memory has run out: Python's, or a library's named OutOfMemoryError."""
    return any(base is MemoryError or bare_name(base) == "OutOfMemoryError" for base in mro(kind))
