"""Accelerate: a pass over the training data is a generation; training, evaluation and the accelerator's steps phases.

accelerator = Accelerator()
pp.integrations.accelerate.Callback(accelerator)
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    import accelerate as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.accelerate needs accelerate; pip install accelerate") from error

__all__ = ["Callback", "install"]

_STEPS = {
    "backward": "backward", "save_state": "checkpoint", "save_model": "checkpoint", "log": "logging",
    "gather_for_metrics": "gathering",
}  # fmt: skip


class Callback:
    """Marks what an accelerator does; make it right after the accelerator.

    The data loader that is gone through first is the one that is trained on: each pass over it begins a generation.
    Passes over others are evaluations.

    Args:
        accelerator: the accelerator.
        profiler: which; ``None``: the default one.
    """

    def __init__(self, accelerator: Any, profiler: Profiler | None = None) -> None:
        self.steps_ = Steps("accelerate", profiler)
        self._n = 0
        self._trained_on = 0
        for method, phase in _STEPS.items():
            wrap_method(accelerator, method, functools.partial(self._in_phase, phase))
        wrap_method(accelerator, "prepare_data_loader", self._around_prepare)
        wrap_method(accelerator, "end_training", self._around_end)

    def _in_phase(self, phase: str, function: Any) -> Any:
        def marked(*args: object, **kwargs: object) -> Any:
            self._enter(phase)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave(phase)

        return marked

    @quietly
    def _enter(self, phase: str) -> None:
        self.steps_.marks.enter(phase)

    @quietly
    def _leave(self, phase: str) -> None:
        self.steps_.marks.leave(phase)

    @quietly
    def _end(self) -> None:
        self.steps_.marks.end_generation()

    def _around_prepare(self, prepare: Any) -> Any:
        def prepared(*args: object, **kwargs: object) -> Any:
            loader = prepare(*args, **kwargs)
            number = id(loader)
            if hasattr(loader, "begin") and hasattr(loader, "end"):
                wrap_method(loader, "begin", lambda begin: self._before(begin, number))
                wrap_method(loader, "end", lambda end: self._after(end, number))
            return loader

        return prepared

    def _before(self, begin: Any, number: int) -> Any:
        def began() -> None:
            begin()
            self._pass_begins(number)

        return began

    def _after(self, end: Any, number: int) -> Any:
        def ended() -> None:
            end()
            self._pass_ends(number)

        return ended

    @quietly
    def _pass_begins(self, number: int) -> None:
        marks = self.steps_.marks
        if self._trained_on in (0, number):
            self._trained_on = number
            marks.generation(self._n)
            marks.enter("training")
            self._n += 1
        else:
            marks.enter("evaluation")

    @quietly
    def _pass_ends(self, number: int) -> None:
        self.steps_.marks.leave("training" if number == self._trained_on else "evaluation")

    def _around_end(self, end: Any) -> Any:
        def ended(*args: object, **kwargs: object) -> Any:
            self._end()
            return end(*args, **kwargs)

        return ended


def install() -> None:
    """Mark each accelerator that a program makes from now on; the one in a trainer of Transformers is the trainer's."""

    def wrap(make: Any) -> Any:
        def init(self: Any, *args: object, **kwargs: object) -> None:
            make(self, *args, **kwargs)
            if not str(sys._getframe(1).f_globals.get("__name__", "")).startswith("transformers."):
                Callback(self)
                USED["Accelerate"] = "a pass over the training data"

        return init

    wrap_method(_package.Accelerator, "__init__", wrap)
