"""Finds the loop that a plain script spends its time in, and makes each of its turns a generation.

A thread looks at the main thread's frames every so often and notes in which loops of the program they are.  The
outermost loop that most looks fell into, and that has come round, is taken.  Where its turns begin is told by
``sys.monitoring`` from Python 3.12 on; before, by the loop's variable, which the thread looks at.  Short turns are
gathered to one generation, as rounds of phases are.
"""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Protocol

from phaseprof.live.loop_code import Loop, loops_at
from phaseprof.probes.locals import local_values

THREAD_NAME = "phaseprof-loop-finder"
EVERY_S = 0.05
# A loop is taken once so many looks were made since it began, most of them fell into it, and it came round so often.
LEAST_LOOKS, LEAST_TURNS, MOST = 12, 2, 0.5
# Turns of one loop that are counted while looking; one that turns faster has an outer one that is meant.
_MOST_COUNTED = 200
_TOOL_IDS = (4, 3)
# How long the end waits for a look and for a mark.
_LAST_S = 1.0
_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Marked(Protocol):
    """What marks the generations: :class:`phaseprof.live.marks.Marks`."""

    @property
    def are_alone(self) -> bool:
        """Whether nothing else marks any."""

    def generation(self) -> None:
        """End the open one, and begin another."""

    def end_generation(self, *, failed: bool) -> None:
        """End the open one; one that failed is not measured."""


class LoopFinder:
    """Looks for the loop while the program runs, and marks its turns.

    Args:
        marks: marks the generations.
        folder: the program's own files lie in it; loops elsewhere are none of its.
        least_s: seconds that a generation lasts at least.
        every_s: seconds between two looks.
        thread: the thread that is looked at, by its number; by default the main one.

    Attributes:
        found: the loop, once it was taken.

    Cost: 20 µs a look (two shared EPYC cores, Python 3.11); from Python 3.12 on, less than 1 µs a turn.
    """

    def __init__(
        self, marks: Marked, folder: Path, *, least_s: float, every_s: float = EVERY_S, thread: int | None = None
    ) -> None:
        self.found: Loop | None = None
        self._least_s = least_s
        self._marked_s = -math.inf
        self._every_s = every_s
        self._marks = marks
        self._folder = f"{folder}/"
        self._main = threading.main_thread().ident or 0
        self._looked_at = self._main if thread is None else thread
        self._n_looks = 0
        self._first: dict[Loop, int] = {}
        self._seen: Counter[Loop] = Counter()
        self._turns: Counter[Loop] = Counter()
        self._values: dict[Loop, object] = {}
        self._n_missed = 0
        self._watcher = _JumpWatcher(self._jumped) if sys.version_info >= (3, 12) else None
        self._stopped = threading.Event()
        self._call = _PENDING(self._pending)
        self._wanted: list[Callable[[], None]] = []
        self._n_asked = self._n_done = 0
        self._is_marking = False
        self._thread = threading.Thread(target=self._look_again_and_again, name=THREAD_NAME, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more, give back what was taken of the interpreter, and wait for a mark that is being made."""
        self._stopped.set()
        self._thread.join(_LAST_S)
        if self._watcher is not None:
            self._watcher.close()
        self._wanted.clear()
        until = time.monotonic() + _LAST_S
        while self._is_waited_for() and time.monotonic() < until:
            time.sleep(0.001)
        if self._n_done < self._n_asked:  # the interpreter still has its address
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._call))

    def describe(self) -> str:
        """What a generation is, in a sentence; empty while no loop was found."""
        rule = f"each of its turns is a generation, and turns shorter than {self._least_s:g} s are grouped"
        return f"{self.found}: {rule}" if self.found is not None else ""

    def abandon(self) -> None:
        """In a forked child: the thread is not there."""
        if self._watcher is not None:
            self._watcher.close()

    def _is_waited_for(self) -> bool:
        if threading.get_ident() == self._main:  # what was asked of the main thread comes after this
            return False
        return self._is_marking or self._n_done < self._n_asked

    def _look_again_and_again(self) -> None:
        while not self._stopped.wait(self._wait_s()):
            frame = sys._current_frames().get(self._looked_at)
            try:
                if frame is None or not self._look(frame):
                    return
            finally:
                del frame

    def _wait_s(self) -> float:
        """How long the next look may wait: as long as no turn would begin a generation, unless the loop has ended."""
        if self.found is None or self._n_missed:
            return self._every_s
        return max(self._every_s, self._marked_s + self._least_s - time.monotonic())

    def _look(self, frame: FrameType | None) -> bool:
        """Look once; return whether to go on."""
        if self.found is None and not self._marks.are_alone:
            return False  # the program, or a framework's callback, says itself what a generation is
        path = self._loops_on(frame)
        if self.found is None:
            self._note(path)
        elif self._watcher is None or not self._watcher.works:
            self._see_turn(path)
        self._see_end(path)
        return True

    def _loops_on(self, frame: FrameType | None) -> list[tuple[Loop, FrameType]]:
        """The program's loops that are running, outermost first."""
        frames: list[FrameType] = []
        while frame is not None:
            if self._is_programs(frame.f_code):
                frames.append(frame)
            frame = frame.f_back
        return [(loop, one) for one in reversed(frames) for loop in loops_at(one.f_code, one.f_lasti)]

    def _is_programs(self, code: CodeType) -> bool:
        name = code.co_filename
        return name.startswith(self._folder) and "site-packages" not in name and "/.venv" not in name

    def _note(self, path: list[tuple[Loop, FrameType]]) -> None:
        self._n_looks += 1
        for loop, frame in path:
            self._first.setdefault(loop, self._n_looks)
            self._seen[loop] += 1
            if self._watcher is None or not self._watcher.watch(frame.f_code):
                self._turns[loop] += self._has_turned(loop, frame)
        for loop, _ in path:
            if self._is_it(loop):
                self.found = loop
                return

    def _is_it(self, loop: Loop) -> bool:
        n_looks = self._n_looks - self._first[loop] + 1
        return n_looks >= LEAST_LOOKS and self._seen[loop] >= MOST * n_looks and self._turns[loop] >= LEAST_TURNS

    def _has_turned(self, loop: Loop, frame: FrameType) -> bool:
        """Whether the loop's variable stands for something else than at the last look."""
        if loop.variable is None:
            return False
        value = _value_of(loop.variable, frame)
        before = self._values.get(loop)
        self._values[loop] = value
        return before is not None and value is not None and value != before

    def _see_turn(self, path: list[tuple[Loop, FrameType]]) -> None:
        for loop, frame in path:
            if loop == self.found and self._has_turned(loop, frame):
                self._in_main_thread(self._mark)

    def _mark(self) -> None:
        """A turn of the loop begins, and with it a generation, if the open one is long enough."""
        now = time.monotonic()
        if now < self._marked_s + self._least_s or self._stopped.is_set():
            return
        self._marked_s = now
        self._is_marking = True
        try:
            self._marks.generation()
        finally:
            self._is_marking = False

    def _see_end(self, path: list[tuple[Loop, FrameType]]) -> None:
        """What comes after the loop is no part of its last turn."""
        self._n_missed = 0 if self.found is None or any(loop == self.found for loop, _ in path) else self._n_missed + 1
        if self._n_missed == 2:
            self._in_main_thread(lambda: self._marks.end_generation(failed=True))

    def _in_main_thread(self, act: Callable[[], None]) -> None:
        """Let the main thread do it between two instructions, as it runs a signal's handler."""
        if self._looked_at != self._main:  # nobody can be asked to: it is done here
            act()
            return
        self._wanted.append(act)
        if ctypes.pythonapi.Py_AddPendingCall(self._call, None) == 0:
            self._n_asked += 1

    def _pending(self, _: object) -> int:
        try:
            self._act()
        finally:
            self._n_done += 1
        return 0

    def _act(self) -> None:
        while self._wanted:
            self._wanted.pop(0)()

    def _jumped(self, code: CodeType, head: int) -> bool:
        """A loop of the program comes round; return whether to hear of it again."""
        if self.found is not None:
            # Equal code that was compiled twice counts as one: loops are kept by code.
            if head != self.found.head or code != self.found.code:
                return False
            if threading.get_ident() == self._looked_at:
                self._mark()
            return True
        loop = next((one for one in loops_at(code, head) if one.head == head), None)
        if loop is None:
            return False
        self._turns[loop] += 1
        return self._turns[loop] < _MOST_COUNTED


def _value_of(name: str, frame: FrameType) -> tuple[str, object] | None:
    """What tells one value of a variable from the next: a number or text itself, of others only where they lie."""
    if frame.f_code.co_name == "<module>":
        value = frame.f_globals.get(name)
    else:
        value = next((found for one, found in local_values(frame) or () if one == name), None)
    if value is None:
        return None
    return ("value", value) if type(value) is int or type(value) is str else ("at", id(value))


class _JumpWatcher:
    """Hears of the jumps back in the code objects that are named, from Python 3.12 on."""

    def __init__(self, jumped: Callable[[CodeType, int], bool]) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # Python 3.12
        self._jumped = jumped
        self._tool: int | None = None
        self._watched: set[CodeType] = set()
        for tool in _TOOL_IDS:
            try:
                self._monitoring.use_tool_id(tool, "phaseprof")
            except ValueError:  # taken by another tool
                continue
            self._tool = tool
            self._monitoring.register_callback(tool, self._monitoring.events.JUMP, self._on_jump)
            break

    @property
    def works(self) -> bool:
        """Whether there was a place for another tool."""
        return self._tool is not None

    def watch(self, code: CodeType) -> bool:
        """Hear of a code object's jumps from now on, also where it is running; return whether that can be."""
        if self._tool is not None and code not in self._watched:
            self._watched.add(code)
            self._monitoring.set_local_events(self._tool, code, self._monitoring.events.JUMP)
        return self._tool is not None

    def _on_jump(self, code: CodeType, offset: int, to: int) -> object:
        if to <= offset and self._jumped(code, to):
            return None
        return self._monitoring.DISABLE

    def close(self) -> None:
        """Give the place back."""
        if self._tool is None:
            return
        for code in self._watched:
            self._monitoring.set_local_events(self._tool, code, 0)
        self._monitoring.register_callback(self._tool, self._monitoring.events.JUMP, None)
        self._monitoring.free_tool_id(self._tool)
        self._tool = None
