"""Workers that ``multiprocessing`` starts record themselves: those of a DataLoader, a pool, or an executor.

    pp.integrations.workers.install()

``phaseprof run`` does it by itself.  Each worker takes its work from a queue; from one piece of work to the next is a
generation.  A worker begins a file of its own, beside that of the process that started it, when it has lived for
``GRACE_S``: what leaks in one that ends before ends with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing import queues
from multiprocessing.process import BaseProcess
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
    """Replace what the process is to call by the same with marks around its work; a class with its own run has none."""
    settings = get_profiler().settings
    target = getattr(process, "_target", None)
    if target is not None and settings.enabled and settings.run is not None and type(target) is not Worker:
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
            source: Any = next((one for one in (*args, *kwargs.values()) if _is_queue(one)), None)
            if source is not None:
                work = Work(source.get, self._name(), self._run, self._grace_s)
                source.get = work.get
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


def _is_queue(one: object) -> bool:
    return issubclass(type(one), (queues.Queue, queues.SimpleQueue))


class Work:
    """Marks a generation from each piece of work that comes out of a queue to the next one that is asked for."""

    def __init__(self, take: Callable[..., object], name: str, run: str, grace_s: float) -> None:
        self._take = take
        self._name = name
        self._run = run
        self._begins_s = time.monotonic() + grace_s
        self._marks: Marks | None = None

    def get(self, *args: object, **kwargs: object) -> object:
        """Take a piece of work as the queue's own method does."""
        if self._marks is not None:
            self._marks.end_generation()
        taken = self._take(*args, **kwargs)
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
