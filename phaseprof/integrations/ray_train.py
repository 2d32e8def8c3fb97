"""Ray Train: what lies between two reports of a worker is a generation, ``training`` and ``report`` are its phases.

    TorchTrainer(pp.integrations.ray_train.train_loop(train_func), ...)

The loop runs in workers: each records a file of its own where ``phaseprof.integrations.ray.runtime_env`` says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from phaseprof.api import get_profiler
from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    import ray as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.ray_train needs ray; pip install 'ray[train]'") from error

__all__ = ["install", "train_loop"]

Loop = TypeVar("Loop", bound=Callable[..., Any])


def train_loop(function: Loop, profiler: Profiler | None = None) -> Loop:
    """Mark a loop of Ray Train: what lies between two calls of ``ray.train.report`` is a generation.

    Its phases are ``training``, and ``report``, in which a checkpoint is stored and workers wait for each other.

    Args:
        function: what the trainer is given as ``train_loop_per_worker``.
        profiler: which, where the loop runs in this process; ``None``: the default one of each worker.
    """

    @functools.wraps(function)
    def loop(*args: object, **kwargs: object) -> Any:
        reports = _Reports(profiler)
        with reports.followed():
            return function(*args, **kwargs)

    return loop  # type: ignore[return-value]  # it is called as the function is


class _Reports:
    """Marks one run of a loop by its reports."""

    def __init__(self, profiler: Profiler | None) -> None:
        self.steps_ = Steps("ray", profiler)
        self._n = 0

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the reports of the loop that runs in the block."""
        utils = self._utils()
        if utils is None:
            yield
            return
        wrap_method(utils, "report", self._around)
        self._begin()
        try:
            yield
        finally:
            vars(utils).pop("report", None)  # the class's own is there again
            self._end()

    @quietly
    def _utils(self) -> Any:
        """What every call of ``ray.train.report`` ends in, however the program imported that."""
        from ray.train.v2._internal.execution.train_fn_utils import get_train_fn_utils

        return get_train_fn_utils()

    def _around(self, report: Callable[..., object]) -> Callable[..., object]:
        def reported(*args: object, **kwargs: object) -> object:
            self._switch()
            found = report(*args, **kwargs)
            self._begin()
            return found

        return reported

    @quietly
    def _switch(self) -> None:
        self.steps_.marks.switch("report")

    @quietly
    def _begin(self) -> None:
        self.steps_.marks.generation(self._n)
        self.steps_.marks.enter("training")
        self._n += 1

    @quietly
    def _end(self) -> None:
        # What follows the last report is a part of a generation, or none of it.
        self.steps_.marks.end_generation(failed=True)
        if self.steps_.profiler is None and _is_worker():
            get_profiler().close()  # Ray ends its workers without a word: what was put off is looked at now


def _is_worker() -> bool:
    """Whether this process is one that Ray has started to do work."""
    return bool(_package.is_initialized()) and _package.get_runtime_context().worker.mode == _package.WORKER_MODE


def install() -> None:
    """Mark the loop of each trainer of Ray Train that is made from now on."""
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    def wrap(make: Any) -> Any:
        def init(self: Any, train_loop_per_worker: Any, *args: object, **kwargs: object) -> None:
            make(self, train_loop(train_loop_per_worker), *args, **kwargs)
            USED["Ray Train"] = "what lies between two reports of a worker"

        return init

    wrap_method(DataParallelTrainer, "__init__", wrap)
