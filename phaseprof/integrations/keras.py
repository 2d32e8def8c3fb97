"""Keras 3: an epoch is a generation; training, validation and the other callbacks are its phases.

model.fit(x, y, callbacks=[pp.integrations.keras.Callback()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    from keras import callbacks as _callbacks
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.keras needs keras 3; pip install keras") from error

__all__ = ["Callback", "install"]


class Callback(_callbacks.Callback):
    """Marks epochs and their steps; give it to ``fit(callbacks=[...])``.

    Args:
        profiler: which; ``None``: the default one.
    """

    def __init__(self, profiler: Profiler | None = None) -> None:
        super().__init__()
        self.steps_ = Steps("keras", profiler)

    @quietly
    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        """Begin a generation, and the training in it."""
        self.steps_.marks.generation(int(epoch))
        self.steps_.marks.enter("training")

    @quietly
    def on_test_begin(self, logs: object = None) -> None:
        """Begin a validation."""
        self.steps_.marks.enter("validation")

    @quietly
    def on_test_end(self, logs: object = None) -> None:
        """End it."""
        self.steps_.marks.leave("validation")

    @quietly
    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        """What follows until the next epoch is done by other callbacks, checkpoints among them."""
        self.steps_.marks.switch("callbacks")

    @quietly
    def on_train_end(self, logs: object = None) -> None:
        """End the last generation."""
        self.steps_.marks.end_generation()


def install() -> None:
    """Give each ``fit`` that is begun from now on a callback, unless it has one."""

    def wrap(make: Any) -> Any:
        def init(self: object, callbacks: Any = None, *args: object, **kwargs: object) -> None:
            given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
            if not any(isinstance(one, Callback) for one in given):
                given.insert(0, Callback())
                USED["Keras"] = "an epoch"
            make(self, given, *args, **kwargs)

        return init

    wrap_method(_callbacks.CallbackList, "__init__", wrap)
