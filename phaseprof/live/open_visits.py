"""The visits that are open in a thread or task, innermost first, and what is done about ends that never came."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from sys import getrefcount

from phaseprof.live.visits import Visit


def _references_of_two() -> int:
    """Count the references to what one container and one local variable hold, as this interpreter counts them."""
    held = [([object()],)]
    visit = held[0]
    return getrefcount(visit)


# References to a visit that nobody is left to end: of the context, a local variable, and the call that counts them,
# unless that borrows the variable's, as from Python 3.14 on.
_LOST = _references_of_two()


class OpenVisits:
    """Knows the innermost visit that is open here; each visit knows the one around it.

    What a signal handler raises may come before the first step of an ``__exit__``: the block is gone then, and what was
    to be ended with it stays.  Without more, all that follows would seem to lie inside, and no phase would be the
    outermost again.  So a visit counts as open as long as something of the program's can end it, and the recording
    hears that all were left where ends may be missing.

    Args:
        leave_all: records that nothing is open in the calling thread.

    Attributes:
        get: returns the innermost visit, or ``None``.
        set: makes a visit the innermost; each is one step of the interpreter.
    """

    def __init__(self, leave_all: Callable[[], None]) -> None:
        innermost: ContextVar[Visit | None] = ContextVar("phaseprof_visits", default=None)
        self.get: Callable[[], Visit | None] = innermost.get
        self.set = innermost.set
        self._torn: set[int] = set()  # threads of which the recording may hold visits as open that are not
        self._leave_all = leave_all

    def tear(self) -> None:
        """An end, or its record, may be missing in the calling thread."""
        self._torn.add(threading.get_ident())

    def innermost(self) -> Visit | None:
        """Return the innermost visit that somebody is left to end; the others are left."""
        visit = self.get()
        while visit is not None and getrefcount(visit) <= _LOST:
            if visit[0]:  # else it has ended, and this is a task that was begun inside it and lived on
                self.tear()
            visit = visit[1]
            self.set(visit)
        if visit is None and self._torn and threading.get_ident() in self._torn:
            self._torn.discard(threading.get_ident())
            self._leave_all()
        return visit

    def is_open(self, visit: Visit) -> bool:
        """Whether a visit was begun in the calling thread or task, and has not ended."""
        one = self.get()
        while one is not None and one is not visit:
            one = one[1]
        return one is visit

    def leave(self, visit: Visit) -> None:
        """End a visit, and with it those that were left open inside it."""
        visit[0].clear()
        if self.get() is visit:
            self.set(visit[1])
        elif self.is_open(visit):
            self.tear()
            self.set(visit[1])

    def go_back_to(self, outside: Visit | None) -> None:
        """End all that was begun within ``outside``, which has ended itself perhaps."""
        if self.get() is not outside and (outside is None or self.is_open(outside)):
            self.tear()
            self.set(outside)
