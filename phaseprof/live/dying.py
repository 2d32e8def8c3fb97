"""The last look of a run that may not reach its end: near the memory limit, out of memory, or told to end."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, Protocol

from phaseprof.interrupts import raise_the_programs
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.live.suspects import AT
from phaseprof.probes import own
from phaseprof.recording import format as fmt
from phaseprof.records import NEAR_LIMIT

# The memory that is kept back for the look.
RESERVE_BYTES = 2 << 20
SIGNALS = ("SIGTERM", "SIGUSR1")


class Dying(Protocol):
    """What may not reach its end: a session."""

    settings: Settings
    enabled: bool
    recorder: Recorder

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

    Cost: 2 MiB that are kept back, so that there is memory to look with when it has run out; each look takes at most
        ``max_look``, as a closing look does.
    """

    def __init__(self, of: Dying, *, is_asked: bool) -> None:
        self._of = of
        self._is_asked = is_asked
        # Touched, so that the system has given it.
        self._reserve = b"\1" * RESERVE_BYTES if is_asked else b""
        self._was_near = self._was_out = False
        self._failed: tuple[int, str] = (0, "")
        self._before: dict[int, Any] = {}
        self._pid = os.getpid()
        if is_asked and of.settings.signals:
            self._take_signals()

    def at_generation_end(self) -> None:
        """Look once when nine tenths of the limit are in use: what comes next may be the kill."""
        self._failed = (0, "")  # an exception that is gone may leave its number to another
        series = self._of.recorder.model.series
        limit, left = series.get((AT, "limit_bytes")), series.get((AT, "available_bytes"))
        if self._was_near or not self._is_asked or limit is None or left is None or limit.last <= 0:
            return
        used = 1 - left.last / limit.last
        if used >= NEAR_LIMIT:
            self._was_near = True
            self._look(f"{used:.0%} of the limit")

    def failed_in(self, phase: str, error: BaseException) -> None:
        """An exception left a phase; the first that it leaves is where it was raised."""
        if self._failed[0] != id(error):
            self._failed = (id(error), phase)

    def left_generation(self, error: BaseException) -> None:
        """A generation failed: look if memory has run out, while the frames that hold it are still there."""
        if self._is_asked and not self._was_out and is_out_of_memory(type(error)):
            self._was_out = True
            phase = self._failed[1] if self._failed[0] == id(error) else ""
            self._look(_name_of(type(error)), phase, ending=True)

    def _look(self, cause: str, phase: str = "", *, ending: bool = False) -> None:
        of, self._reserve = self._of, b""
        try:
            if of.enabled:
                where = phase or of.current_phase or ""
                of.recorder.add(fmt.Dying(of.recorder.now(), of.ordinal, cause, where, ending))
                of.finish()
        except Exception as error:  # noqa: BLE001 - a look that fails must not hide why the run ends
            raise_the_programs(error)
            of.warn(f"the last look failed ({type(error).__name__})", f": {error}")

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
        """Handle no more signals, where nobody else has taken them since."""
        before, self._before, self._is_asked, self._reserve = self._before, {}, False, b""
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


def is_out_of_memory(kind: type) -> bool:
    """Whether an exception's type says that memory has run out: Python's, or a library's named OutOfMemoryError."""
    return any(base is MemoryError or base.__name__ == "OutOfMemoryError" for base in kind.__mro__)


def _name_of(kind: type) -> str:
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
