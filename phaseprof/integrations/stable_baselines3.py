"""Stable-Baselines3: a rollout, and what is learnt from it, is a generation; ``collect`` and ``learn`` are its phases.

model.learn(100_000, callback=pp.integrations.stable_baselines3.Callback())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    from stable_baselines3.common import base_class as _base_class
    from stable_baselines3.common import callbacks as _callbacks
except ImportError as error:
    raise MissingExtra(
        "phaseprof.integrations.stable_baselines3 needs stable-baselines3; pip install stable-baselines3"
    ) from error

__all__ = ["Callback", "install"]


class Callback(_callbacks.BaseCallback):
    """Marks rollouts; give it to ``learn(callback=...)``, alone or in a list.

    Args:
        profiler: which; ``None``: the default one.
    """

    def __init__(self, profiler: Profiler | None = None) -> None:
        super().__init__()
        self.steps_ = Steps("stable_baselines3", profiler)
        self._n_rollouts = 0
        self._n_before = 0

    @quietly
    def _on_training_start(self) -> None:
        self._n_rollouts, self._n_before = 0, int(self.num_timesteps)

    @quietly
    def _on_rollout_start(self) -> None:
        self._end()
        self.steps_.marks.generation(self._n_rollouts)
        self.steps_.marks.enter("collect")
        self._n_rollouts += 1

    def _on_step(self) -> bool:
        return True

    @quietly
    def _on_rollout_end(self) -> None:
        self.steps_.marks.switch("learn")

    @quietly
    def _on_training_end(self) -> None:
        self._end()

    def _end(self) -> None:
        """End the generation; its items are the steps that the environments took in it."""
        now = int(self.num_timesteps)
        self.steps_.marks.end_generation(now - self._n_before)
        self._n_before = now


def install() -> None:
    """Give each training that is begun from now on a callback, unless it has one."""

    def wrap(init_callback: Any) -> Any:
        def with_ours(self: object, callback: Any, *args: object, **kwargs: object) -> Any:
            given = _as_list(callback)
            if not any(isinstance(one, Callback) for one in given):
                callback = [Callback(), *given]
                USED["Stable-Baselines3"] = "a rollout"
            return init_callback(self, callback, *args, **kwargs)

        return with_ours

    wrap_method(_base_class.BaseAlgorithm, "_init_callback", wrap)


def _as_list(callback: Any) -> list[Any]:
    if callback is None:
        return []
    if isinstance(callback, list):
        return list(callback)
    return [callback if isinstance(callback, _callbacks.BaseCallback) else _callbacks.ConvertCallback(callback)]
