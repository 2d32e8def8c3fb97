"""DEAP: a generation begins where individuals are selected; selection, variation and evaluation are its phases.

pp.integrations.deap.Callback(toolbox)             # after the operators were registered
algorithms.eaSimple(population, toolbox, 0.5, 0.2, ngen=100)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra, UsageError
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    from deap.base import Toolbox as _Toolbox
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.deap needs deap; pip install deap") from error

__all__ = ["Callback", "install"]


class Callback:
    """Marks the generations of an algorithm that uses a toolbox: each round of selection and evaluation is one.

    Args:
        toolbox: with its operators, ``select`` among them.
        profiler: which; ``None``: the default one.

    Raises:
        UsageError: the toolbox has no ``select`` yet.
    """

    def __init__(self, toolbox: Any, profiler: Profiler | None = None) -> None:
        if not hasattr(toolbox, "select"):
            raise UsageError("Callback(toolbox) must come after toolbox.register('select', ...)")
        self.steps_ = Steps("deap", profiler)
        self._n, self._was_evaluated = 0, True
        wrap_method(toolbox, "select", self._around_select)
        wrap_method(toolbox, "map", self._around_map)

    def _around_select(self, select: Any) -> Any:
        def marked(*args: object, **kwargs: object) -> Any:
            self._begin()
            chosen = select(*args, **kwargs)
            self._go_on("variation")
            return chosen

        return marked

    def _around_map(self, apply: Any) -> Any:
        def marked(*args: object, **kwargs: object) -> Any:
            # Until the next selection: what map returns may be evaluated only when it is gone through.
            self._was_evaluated = True
            self._go_on("evaluation")
            return apply(*args, **kwargs)

        return marked

    @quietly
    def _begin(self) -> None:
        if self._was_evaluated:
            self._was_evaluated = False
            self.steps_.marks.generation(self._n)
            self._n += 1
        self.steps_.marks.switch("selection")

    @quietly
    def _go_on(self, phase: str) -> None:
        self.steps_.marks.switch(phase)


def install() -> None:
    """Mark each toolbox from now on, once it has its operators."""

    def wrap(register: Any) -> Any:
        def registered(self: Any, alias: str, *args: object, **kwargs: object) -> Any:
            register(self, alias, *args, **kwargs)
            if alias == "select":
                Callback(self)
                USED["DEAP"] = "each round of selection"

        return registered

    wrap_method(_Toolbox, "register", wrap)
