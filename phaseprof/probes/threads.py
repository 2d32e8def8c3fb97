"""Threads of this process: how many."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.protocol import Closable, CostClass

_TASKS = "/proc/self/task"


class ThreadProbe(Closable):
    """Count threads.

    Metrics: ``threads``, all threads of the process as the system counts them (absent off Linux); ``python_threads``,
    those that the ``threading`` module knows.

    Traps: BLAS, OpenMP and CUDA start threads of their own at their first use, a step that is no leak; executors that
    are never shut down are one.

    Cost: 6 us, and 0.5 us more for each thread (two shared AMD EPYC cores, Python 3.11).
    Source: the entries of ``/proc/self/task``; ``threading.active_count``.
    """

    name = "threads"
    cost = CostClass.GENERATION

    def read(self) -> Mapping[str, int]:
        """Count the threads; see the class for metrics and cost.

        Raises:
            ProbeUnavailable: the probe was closed.
        """
        self._require_open("the threads")
        figures = {"python_threads": threading.active_count()}
        try:
            figures["threads"] = len(os.listdir(_TASKS))  # noqa: PTH208
        except OSError as error:
            raise_the_programs(error)
            # Not Linux: absent, not zero.
        return figures
