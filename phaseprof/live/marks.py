"""Generations and phases marked by calls that stand apart, as the hooks of a framework are called."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from phaseprof.errors import ExpectationError
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.loops import OpenEnd
from phaseprof.live.recorder import Recorder
from phaseprof.live.sampler import marks_nothing
from phaseprof.live.scopes import Boundaries, GenerationScope, Items, PhaseScope
from phaseprof.probes.typeinfo import is_a


class Marked(Boundaries, Protocol):
    """Where marks are made: a profiler's session."""

    marks: weakref.WeakSet[OpenEnd | Marks]
    recorder: Recorder

    def make_generation(self, index: int | str | None, items: Items) -> GenerationScope:
        """Return the scope of a generation that was not entered yet."""

    @property
    def in_generation(self) -> bool:
        """Whether a generation is open."""

    def warn(self, text: str, detail: str = "") -> None:
        """Tell the user once."""


class Marks:
    """What a framework's callback says, in calls of their own: a generation begins, a phase begins, both end.

    Nothing is raised into the program, except ``ExpectationError`` where ``on_violation="raise"`` asks for it.  What an
    exception of the program leaves open is ended when the object dies, or when another training begins.

    Args:
        to: where marks are made.
        within: the framework's package; its outermost running function is the training that is marked.
    """

    def __init__(self, to: Marked, within: str) -> None:
        self._to = to
        self._within = within
        self._open: list[tuple[str, PhaseScope]] = []
        self._generation = OpenEnd(to.make_generation)
        self._training = (0, 0)
        to.marks.add(self)

    def generation(self, index: int | str | None = None) -> None:
        """End what is open, and begin a generation; inside one of another's making it begins none.

        Args:
            index: its number or name; the ordinal if not given.
        """
        self._safely(lambda: self._begin(index))

    def end_generation(self, items: Items = None, *, failed: bool = False) -> None:
        """End the generation and the phases in it; one that failed is not measured."""
        self._safely(lambda: self._end(items, failed))

    def enter(self, name: str) -> None:
        """Begin a phase inside those that are open."""
        self._safely(lambda: self._enter(name))

    def leave(self, name: str) -> None:
        """End a phase and those inside it; nothing where it is not open."""
        self._safely(lambda: self._leave(name))

    def switch(self, name: str) -> None:
        """End the phases that are open, and begin another in their place."""
        self._safely(lambda: self._switch(name))

    @property
    def are_alone(self) -> bool:
        """Whether nothing else in the program marks a phase or a generation."""
        return marks_nothing(self._to.recorder)

    @property
    def is_stale(self) -> bool:
        """Whether the training that is marked runs no more, as far as this thread can see."""
        return self._training != (0, 0) and self._training not in _running(self._within)

    def close(self) -> None:
        """The recording is read: end what is open, as ``next_generation`` does."""
        self._generation.close()

    def forget(self) -> None:
        """In a forked child and a new recording: what was open is none of theirs."""
        self._open.clear()
        self._generation.forget()

    def __del__(self) -> None:
        if self._open or self._generation.is_open:
            self.end_generation(failed=True)

    def _safely(self, act: Callable[[], object]) -> None:
        try:
            act()
        except ExpectationError:
            raise
        except Exception as error:  # noqa: BLE001 - a callback must not break the training
            raise_the_programs(error)
            self._to.warn(f"a callback failed: {type(error).__name__}", f": {error}")

    def _begin(self, index: int | str | None) -> None:
        self._end(None, failed=False)
        if not self._to.enabled or (self._to.in_generation and not end_stale(self._to.marks)):
            return
        running = _running(self._within)
        self._training = running[-1] if running else (0, 0)
        self._generation.next(index, None)

    def _end(self, items: Items, failed: bool) -> None:
        self._leave_all()
        self._training = (0, 0)
        self._generation.end(items, failed=failed)

    def _enter(self, name: str) -> None:
        if self._to.enabled:
            scope = PhaseScope(self._to, name, None)
            scope.__enter__()
            self._open.append((name, scope))

    def _switch(self, name: str) -> None:
        self._leave_all()
        self._enter(name)

    def _leave(self, name: str) -> None:
        if any(name == one for one, _ in self._open):
            while self._leave_last() != name:
                pass

    def _leave_last(self) -> str:
        name, scope = self._open.pop()
        scope.__exit__(None, None, None)
        return name

    def _leave_all(self) -> None:
        while self._open:
            self._leave_last()


def end_stale(marks: weakref.WeakSet[OpenEnd | Marks]) -> bool:
    """End the generation of a training that runs no more; tell if there was one."""
    stale = [one for one in marks if is_a(one, Marks) and one.is_stale]
    for one in stale:
        one.end_generation(failed=True)
    return bool(stale)


def _running(package: str) -> list[tuple[int, int]]:
    """The frames of a package that the calling thread runs, innermost first, by the numbers that tell them apart."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
            found.append((id(frame), id(frame.f_code)))
        frame = frame.f_back
    return found
