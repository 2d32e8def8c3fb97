"""Workers that ``multiprocessing`` starts record themselves: those of a DataLoader, a pool, or an executor.

    pp.integrations.workers.install()

``phaseprof run`` does it by itself.  Each worker takes its work from a queue; from one piece of work to the next is a
generation.  A worker begins a file of its own, beside that of the process that started it, when it has lived for
``GRACE_S``: what leaks in one that ends before ends with it.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing import queues
from multiprocessing.process import BaseProcess
from multiprocessing.spawn import get_executable
from typing import TYPE_CHECKING, Any

from phaseprof.api import configure, get_profiler
from phaseprof.integrations._steps import wrap_method
from phaseprof.interrupts import raise_the_programs

if TYPE_CHECKING:
    from phaseprof.live.marks import Marks
    from phaseprof.profiler import Profiler

__all__ = ["GRACE_S", "install"]

# Seconds for which a worker lives before it records: workers made anew for every epoch would leave hundreds of files.
GRACE_S = 10.0
_NAMES = {
    "torch.utils.data._utils.worker": "DataLoader worker", "multiprocessing.pool": "pool worker",
    "concurrent.futures.process": "executor worker",
}  # fmt: skip


def install() -> None:
    """Let the workers that this process starts from now on record, as it does, into its folder."""
    wrap_method(BaseProcess, "start", _starts)


def _starts(start: Callable[..., Any]) -> Callable[..., Any]:
    def started(self: BaseProcess, *args: object, **kwargs: object) -> Any:
        try:
            _mark(self)
        except Exception as error:  # noqa: BLE001 - a worker that is not recorded is better than none
            raise_the_programs(error)
        return start(self, *args, **kwargs)

    return started


def _mark(process: Any) -> None:
    """Replace what the process is to call, if it is given queues, by the same with marks around its work."""
    settings = get_profiler().settings
    target = getattr(process, "_target", None)
    if target is None or type(target) is Worker or not settings.enabled or settings.run is None:
        return
    is_ours = os.fsdecode(get_executable()) == sys.executable  # another interpreter may not have us
    if is_ours and _queues_of(process._args, process._kwargs):
        process._target = Worker(target, settings.run, GRACE_S)


class Worker:
    """What a worker calls in place of its target: that, and before it looks where the work comes from.

    Args:
        target: what the program wants to be called.
        run: the folder of the recording.
        grace_s: for how long the worker records nothing.
    """

    def __init__(self, target: Callable[..., object], run: str, grace_s: float) -> None:
        self._target = target
        self._run = run
        self._grace_s = grace_s

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the target; it returns and raises what it does without us."""
        work = None
        try:
            work = Work(self._name(), self._run, self._grace_s)
            for source in _queues_of(args, kwargs):
                source.get = functools.partial(work.take, source.get)
        except Exception as error:  # noqa: BLE001 - the worker must not feel that it is watched
            raise_the_programs(error)
        try:
            return self._target(*args, **kwargs)
        finally:
            if work is not None:
                work.close()

    def _name(self) -> str:
        known = _NAMES.get(getattr(self._target, "__module__", ""))
        return known or str(getattr(self._target, "__name__", "worker"))


def _queues_of(args: Iterable[object], kwargs: Mapping[str, object]) -> list[Any]:
    kinds = (queues.Queue, queues.SimpleQueue)
    return [one for one in (*args, *kwargs.values()) if issubclass(type(one), kinds)]


class Work:
    """Marks a generation from each piece of work that comes out of a queue to the next one that is asked for."""

    def __init__(self, name: str, run: str, grace_s: float) -> None:
        self._name = name
        self._run = run
        self._begins_s = time.monotonic() + grace_s
        self._marks: Marks | None = None

    def take(self, get: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Take a piece of work as the queue's own method does."""
        if self._marks is not None:
            self._marks.end_generation()
        taken = get(*args, **kwargs)
        if taken is not None and time.monotonic() >= self._begins_s:  # nothing is how a worker is asked to end
            self._begin()
        return taken

    def _begin(self) -> None:
        try:
            if self._marks is None:
                self._marks = self._profiler().marks("multiprocessing")
            self._marks.generation()
            self._marks.enter(self._name)
        except Exception as error:  # noqa: BLE001 - as above
            raise_the_programs(error)
            self._begins_s = float("inf")

    def _profiler(self) -> Profiler:
        """The default profiler: of a forked worker its parent's, of a spawned one that of the environment."""
        profiler = get_profiler()
        return profiler if profiler.settings.run is not None else configure(run=self._run)

    def close(self) -> None:
        """End the recording, if there is one: workers end without what is called at the exit of others."""
        if self._marks is not None:
            try:
                self._marks.end_generation()
                get_profiler().close()
            except Exception as error:  # noqa: BLE001 - as above
                raise_the_programs(error)
