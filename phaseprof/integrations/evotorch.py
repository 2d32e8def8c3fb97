"""EvoTorch: a step of a search is a generation; evaluation, variation and logging are its phases.

pp.integrations.evotorch.Callback(searcher)
searcher.run(100)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    from evotorch.algorithms import SearchAlgorithm as _SearchAlgorithm
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.evotorch needs evotorch; pip install evotorch") from error

__all__ = ["Callback", "install"]


class Callback:
    """Marks the steps of a search by its own hooks.

    Args:
        searcher: the search; its problem's hooks tell when it evaluates.
        profiler: which; ``None``: the default one.
    """

    def __init__(self, searcher: Any, profiler: Profiler | None = None) -> None:
        self.steps_ = Steps("evotorch", profiler)
        self._n_steps = int(searcher.step_count)
        searcher.before_step_hook.insert(0, self._before_step)
        searcher.after_step_hook.append(self._after_step)
        searcher.end_of_run_hook.append(self._end_of_run)
        searcher.problem.before_eval_hook.insert(0, self._before_evaluation)
        searcher.problem.after_eval_hook.append(self._after_evaluation)

    @quietly
    def _before_step(self) -> None:
        self.steps_.marks.generation(self._n_steps)
        self.steps_.marks.enter("variation")
        self._n_steps += 1

    @quietly
    def _before_evaluation(self, batch: object) -> None:
        self.steps_.marks.switch("evaluation")

    @quietly
    def _after_evaluation(self, batch: object) -> None:
        self.steps_.marks.switch("variation")

    @quietly
    def _after_step(self) -> None:
        self.steps_.marks.switch("logging")

    @quietly
    def _end_of_run(self, status: object) -> None:
        self.steps_.marks.end_generation()


def install() -> None:
    """Mark each search that is made from now on."""

    def wrap(make: Any) -> Any:
        def init(self: Any, *args: object, **kwargs: object) -> None:
            make(self, *args, **kwargs)
            Callback(self)
            USED["EvoTorch"] = "a step of the search"

        return init

    wrap_method(_SearchAlgorithm, "__init__", wrap)
