"""The observation itself, in a thread of the observed program: finds its loop, measures, and takes everything back."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phaseprof import progress
from phaseprof.live import session as sessions
from phaseprof.live.budget import Budget
from phaseprof.live.log_lines import LOGGER
from phaseprof.live.loop_finder import EVERY_S, LoopFinder
from phaseprof.live.marks import Marks
from phaseprof.live.session import Session
from phaseprof.live.settings import Settings

POLL_S = 0.1
# Of the time, the parts in which a loop of the main thread, and then one of another thread, is looked for; at most so
# many seconds each.
_OF_MAIN, _OF_OTHER, _MOST_S = 0.25, 0.2, 15.0
# How often the threads are looked at to see which of them works.
_LOOKS = 10
_PAGE_BYTES = 4096
_ONLY_FOR = "" if sys.version_info >= (3, 12) else " (before Python 3.12 only for loops are, no while loops)"


class _Guest(Session):
    """A session in a program that has not asked for one: what it has to say goes to the recording alone."""

    def warn(self, text: str, detail: str = "") -> None:
        """Note it."""
        recorder = getattr(self, "recorder", None)
        if recorder is not None and not recorder.is_closed and text not in self._warned and len(self._warned) < 100:
            self._warned.add(text)
            recorder.note(text)


def observe(folder: str, order: Mapping[str, Any], began_ns: int, *, is_known: bool) -> dict[str, object]:
    """Observe the program that this runs in for as long as is ordered, in the calling thread.

    Args:
        folder: of the errand: a file ``stop`` in it, or its end, ends the observation.
        order: what ``phaseprof.cli.attach`` asks for.
        began_ns: processor time of this thread when it began to import.
        is_known: whether the program had imported phaseprof itself: what that has left there stays.

    Returns:
        What to answer: why nothing was observed, if so.
    """
    if any(session.enabled for session in sessions._sessions):
        return {"refused": "it is profiled already (got: phaseprof records it); phaseprof watch follows that run"}
    observation = _Observation(order, is_known=is_known)
    observation.begin(time.thread_time_ns() - began_ns)
    try:
        observation.look_for_the_loop(folder)
        observation.wait(folder)
    finally:
        observation.end("observed")
        _give_back_page(folder)
        if not _lives(order["asked_by"]):  # nobody else is there to take it away
            shutil.rmtree(folder, ignore_errors=True)
    return {}


class _Observation:
    """One observation; ends once, in whichever thread comes first."""

    def __init__(self, order: Mapping[str, Any], *, is_known: bool) -> None:
        self._order = order
        self._is_known = is_known
        self._until = time.monotonic() + order["seconds"]
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._session: _Guest | None = None
        self._closing: _Guest | None = None
        self._finder: LoopFinder | None = None
        self._is_by_clock = False

    def begin(self, import_ns: int) -> None:
        """Start recording, and see to it that a fork and the program's end find nothing of ours."""
        progress.hide(is_hidden=True)
        LOGGER.disabled = True
        os.register_at_fork(after_in_child=self._in_child)
        atexit.register(self._at_exit)
        order = self._order
        settings = Settings(
            run=order["run"], budget=order["budget"], sample_every_s=order["interval"], max_pause=order["max_pause"],
            max_look=order["max_pause"],
        )  # fmt: skip
        self._session = _Guest(settings)
        self._marks = Marks(self._session, "")
        budget: Budget = self._session.budget
        budget.asked_ns["attaching"] += import_ns

    def look_for_the_loop(self, folder: str) -> None:
        """Look at the main thread, then at the other thread that works most; go by the clock if neither has a loop."""
        seconds = self._order["seconds"]
        if self._finds(folder, None, min(_MOST_S, _OF_MAIN * seconds)):
            return
        thread = _busiest(self._stopped)
        if thread is not None and self._finds(folder, thread, min(_MOST_S, _OF_OTHER * seconds)):
            return
        if self._session is not None and self._marks.are_alone and not self._is_over(folder):
            self._is_by_clock = True
            least_s = self._session.settings.min_generation_s
            self._session.recorder.note(f"no loop was found{_ONLY_FOR}: each {least_s:g} s is a generation")

    def _finds(self, folder: str, thread: int | None, seconds: float) -> bool:
        session = self._session
        if session is None:
            return True
        finder = LoopFinder(self._marks, _programs_folder(), least_s=session.settings.min_generation_s, thread=thread)
        self._finder = finder
        finder.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until and finder.found is None and not self._is_over(folder):
            self._stopped.wait(POLL_S)
        if finder.found is None:
            finder.stop()
            return False
        session.recorder.note(finder.describe())
        return True

    def wait(self, folder: str) -> None:
        """Wait for the end; where no loop is known, mark generations by the clock."""
        session = self._session
        every_s = POLL_S if session is None or not self._is_by_clock else session.settings.min_generation_s
        while not self._is_over(folder):
            with self._lock:
                if self._is_by_clock and self._session is not None:
                    self._marks.generation()
            self._stopped.wait(every_s)

    def _is_over(self, folder: str) -> bool:
        is_late = time.monotonic() >= self._until
        return self._stopped.is_set() or is_late or not _is_wanted(folder, self._order["asked_by"])

    def end(self, reason: str) -> None:
        """Make the last look, close the recording, and take every hook back."""
        with self._lock:
            session = self._closing = self._session
            self._session = None
            self._stopped.set()
            if session is None:
                return
            if self._finder is not None:
                self._finder.stop()
            self._marks.end_generation(failed=True)  # it is not over
            session.finish()
            session.close(reason)
            self._take_back()

    def _take_back(self) -> None:
        atexit.unregister(self._at_exit)
        LOGGER.disabled = False
        progress.hide(is_hidden=False)
        if not self._is_known:
            logging.root.manager.loggerDict.pop(LOGGER.name, None)

    def _at_exit(self) -> None:
        self.end("the interpreter ended")

    def _in_child(self) -> None:
        """In a forked child nothing is observed: what it has of ours is closed, whatever was going on at the fork."""
        self._lock = threading.Lock()  # the thread that may have held it is not there
        atexit.unregister(self._at_exit)
        session, self._session = self._session or self._closing, None
        if session is not None and session.enabled:
            session.enabled = False
            session.inspector.abandon()
            session.recorder.abandon()
            if session.sampler is not None:
                session.sampler.abandon()
        if self._finder is not None:
            self._finder.abandon()


def _is_wanted(folder: str, asked_by: int) -> bool:
    """Whether whoever attached still wants it: the errand is there, does not say stop, and its process lives."""
    at = Path(folder)
    return at.is_dir() and not (at / "stop").exists() and _lives(asked_by)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _programs_folder() -> Path:
    """The folder of the program's own files: the script's, or that of the package which ``-m`` ran a module of."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if not isinstance(file, str):
        return Path.cwd()
    folder = Path(file).absolute().parent
    package = str(getattr(getattr(main, "__spec__", None), "name", "")).split(".")[:-1]
    return Path(*folder.parts[: len(folder.parts) - max(0, len(package) - 1)]) if package else folder


def _busiest(stopped: threading.Event) -> int | None:
    """The thread, of those that are neither the main one nor ours, that is seen at another place most often."""
    not_theirs = {threading.main_thread().ident, threading.get_ident()}
    places: dict[int, tuple[int, int]] = {}
    moved: Counter[int] = Counter()
    for _ in range(_LOOKS):
        for thread, frame in sys._current_frames().items():
            place = (id(frame), frame.f_lasti)
            moved[thread] += thread not in not_theirs and places.get(thread, place) != place
            places[thread] = place
        frame = None  # type: ignore[assignment]  # no frame of the program's is held while it runs
        if stopped.wait(EVERY_S):
            break
    found = [(n, thread) for thread, n in moved.items() if n]
    return max(found)[1] if found else None


def _give_back_page(folder: str) -> None:
    """Unmap the page that the debugger wrote the first lines into; they were read long ago."""
    try:
        address = int((Path(folder) / "page").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    unmap = ctypes.CDLL(None).munmap
    unmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    unmap(address, _PAGE_BYTES)
