"""Threads of this process: how many, and which name they go by."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.protocol import Closable, CostClass

_TASKS = "/proc/self/task"
_NUMBERS = re.compile(r"\d+(?:[_-]\d+)*")
_OVERRIDES = frozenset({"name", "_name", "__getattribute__", "__getattr__"})


@dataclass(frozen=True)
class ThreadGroup:
    """Python threads whose names differ only in numbers.

    Attributes:
        name: the common name, numbers written ``*``, such as ``ThreadPoolExecutor-*``.
        count: how many are alive.
    """

    name: str
    count: int


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


def describe_threads() -> tuple[ThreadGroup, ...]:
    """Group the living Python threads by name, the most numerous first.

    A subclass of ``Thread`` that computes its name would run the user's code: it goes by its class instead.

    Cost: 1 us a thread (two shared AMD EPYC cores, Python 3.11). Source: ``threading.enumerate``.
    """
    threads = threading.enumerate()
    try:
        counts = Counter(_NUMBERS.sub("*", _name_of(thread)) for thread in threads)
    finally:
        del threads
    groups = [ThreadGroup(name, count) for name, count in counts.items()]
    return tuple(sorted(groups, key=lambda group: (-group.count, group.name)))


def _name_of(thread: threading.Thread) -> str:
    kind = type(thread)
    for base in type.__getattribute__(kind, "__mro__"):
        if base is threading.Thread:
            break
        if not _OVERRIDES.isdisjoint(type.__getattribute__(base, "__dict__")):
            return str(type.__getattribute__(kind, "__name__"))
    name = thread.name
    return name if type(name) is str else str(type.__getattribute__(kind, "__name__"))
