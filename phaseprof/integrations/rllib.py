"""RLlib: an iteration of an algorithm is a generation; ``collect``, ``learn`` and ``evaluation`` are its phases.

config.callbacks(pp.integrations.rllib.Callback)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    from ray.rllib.callbacks.callbacks import RLlibCallback as _RLlibCallback
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.rllib needs RLlib; pip install 'ray[rllib]'") from error

__all__ = ["Callback", "install"]

_LEARN = "learn"


class Callback(_RLlibCallback):
    """Marks the iterations of an algorithm; give the class to ``config.callbacks``, alone or in a list.

    Args:
        profiler: which; ``None``: the default one.
    """

    def __init__(self, profiler: Profiler | None = None) -> None:
        super().__init__()
        self.steps_ = Steps("ray", profiler)

    @quietly
    def on_algorithm_init(self, *, algorithm: Any, **kwargs: object) -> None:
        """Mark what the algorithm does from now on."""
        _Iterations(algorithm, self.steps_)


class _Iterations:
    """Marks one algorithm by the methods in which its iterations run."""

    def __init__(self, algorithm: Any, steps: Steps) -> None:
        self.steps_ = steps
        self._algorithm = algorithm
        self._n_before = 0.0
        wrap_method(algorithm, "step", self._around_step)
        wrap_method(algorithm, "log_result", self._around_log)
        wrap_method(algorithm, "evaluate", self._around_evaluation)
        learners = getattr(algorithm, "learner_group", None)
        if learners is not None:
            wrap_method(learners, "update", self._around_update)

    def _around_step(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: object, **kwargs: object) -> Any:
            self._begin()
            try:
                return step(*args, **kwargs)
            except BaseException:
                self._fail()
                raise

        return stepped

    def _around_log(self, log: Callable[..., Any]) -> Callable[..., Any]:
        """The user's ``on_train_result`` runs in it, which is the last of an iteration."""

        def logged(result: Any, *args: object, **kwargs: object) -> Any:
            self._switch("callbacks")
            try:
                found = log(result, *args, **kwargs)
            except BaseException:
                self._fail()
                raise
            self._end(result)
            return found

        return logged

    def _around_update(self, update: Callable[..., Any]) -> Callable[..., Any]:
        def updated(*args: object, **kwargs: object) -> Any:
            self._switch(_LEARN)
            try:
                return update(*args, **kwargs)
            finally:
                self._switch("collect")  # an algorithm may collect and learn by turns

        return updated

    def _around_evaluation(self, evaluate: Callable[..., Any]) -> Callable[..., Any]:
        def evaluated(*args: object, **kwargs: object) -> Any:
            self._switch("evaluation")
            return evaluate(*args, **kwargs)

        return evaluated

    @quietly
    def _begin(self) -> None:
        self.steps_.marks.generation(int(self._algorithm.iteration))
        self.steps_.marks.enter("collect")

    @quietly
    def _switch(self, phase: str) -> None:
        self.steps_.marks.switch(phase)

    @quietly
    def _end(self, result: object) -> None:
        """End the generation; its items are the steps that the environments took in it."""
        now = _steps_taken(result)
        self.steps_.marks.end_generation(None if now is None else now - self._n_before)
        self._n_before = self._n_before if now is None else now

    @quietly
    def _fail(self) -> None:
        self.steps_.marks.end_generation(failed=True)


def _steps_taken(result: object) -> float | None:
    """Return how many steps the environments have taken since the start, as the algorithm says."""
    runners = result.get("env_runners") if isinstance(result, Mapping) else None
    taken = runners.get("num_env_steps_sampled_lifetime") if isinstance(runners, Mapping) else None
    return float(taken) if isinstance(taken, (int, float)) else None


def install() -> None:
    """Mark each algorithm that is set up from now on, unless it has a callback."""
    from ray.rllib.algorithms.algorithm import Algorithm

    def wrap(set_up: Any) -> Any:
        def marked(self: Any, *args: object, **kwargs: object) -> None:
            set_up(self, *args, **kwargs)
            if not hasattr(self.step, "__phaseprof__"):
                _Iterations(self, Steps("ray", None))
            USED["RLlib"] = "an iteration"

        return marked

    wrap_method(Algorithm, "setup", wrap)
