"""Optuna: a trial is a generation, and the objective its phase.

study.optimize(objective, n_trials=100, callbacks=[pp.integrations.optuna.Callback()])
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    import optuna as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.optuna needs optuna; pip install optuna") from error

__all__ = ["Callback", "install"]

_PHASE = "objective"


class Callback:
    """Marks trials: Optuna calls it at the end of each, which is where the next one begins.

    The first begins where the callback is made, so make it in the call of ``optimize``.

    Args:
        profiler: which; ``None``: the default one.
    """

    def __init__(self, profiler: Profiler | None = None) -> None:
        self.steps_ = Steps("optuna", profiler)
        self._begin(0)

    @quietly
    def __call__(self, study: object, trial: Any) -> None:
        """A trial has ended."""
        self._begin(int(trial.number) + 1)

    @quietly
    def _begin(self, number: int) -> None:
        self.steps_.marks.generation(number)
        self.steps_.marks.enter(_PHASE)


def install() -> None:
    """Make each trial a generation from now on, unless the study is given a callback."""

    def wrap(optimize: Any) -> Any:
        def marked(self: object, func: Any, *args: object, **kwargs: Any) -> Any:
            given = kwargs.get("callbacks") or ()
            is_marked = any(isinstance(one, Callback) for one in given)
            USED["Optuna"] = "a trial"
            return optimize(self, func if is_marked else _mark(func), *args, **kwargs)

        return marked

    wrap_method(_package.study.Study, "optimize", wrap)


def _mark(objective: Any) -> Any:
    steps = Steps("optuna", None)

    @functools.wraps(objective, updated=())
    def trial_of(trial: Any) -> Any:
        steps.marks.generation(int(trial.number))
        steps.marks.enter(_PHASE)
        try:
            return objective(trial)
        finally:
            steps.marks.end_generation()

    return trial_of
