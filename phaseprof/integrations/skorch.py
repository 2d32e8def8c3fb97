"""skorch: an epoch is a generation; training, validation and the other callbacks are its phases.

net = NeuralNetClassifier(..., callbacks=[pp.integrations.skorch.Callback()])
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    import skorch as _package
    from skorch.callbacks import Callback as _Base
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.skorch needs skorch; pip install skorch") from error

__all__ = ["Callback", "install"]


class Callback(_Base):
    """Marks epochs and their steps; give it to a net's ``callbacks=[...]``.

    Args:
        profiler: which; ``None``: the default one.
    """

    def __init__(self, profiler: Profiler | None = None) -> None:
        self.profiler = profiler
        # Attributes that end in an underscore are no parameters, so that nets can be cloned.
        self.steps_ = Steps("skorch", profiler)
        self.is_validating_ = False

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "profiler": None}

    @quietly
    def on_epoch_begin(self, net: Any, dataset_train: object = None, dataset_valid: object = None, **_: object) -> None:
        """Begin a generation, and the training in it."""
        self.is_validating_ = False
        self.steps_.marks.generation(len(net.history))
        self.steps_.marks.enter("training")

    @quietly
    def on_batch_begin(self, net: object, batch: object = None, training: bool | None = None, **_: object) -> None:
        """The first batch that is not trained on begins the validation."""
        if not training and not self.is_validating_:
            self.is_validating_ = True
            self.steps_.marks.switch("validation")

    @quietly
    def on_epoch_end(self, net: object, dataset_train: object = None, dataset_valid: object = None, **_: object) -> None:  # noqa: E501 - as skorch has it
        """What follows until the next epoch is done by other callbacks, checkpoints among them."""
        self.steps_.marks.switch("callbacks")

    @quietly
    def on_train_end(self, net: object, X: object = None, y: object = None, **_: object) -> None:  # noqa: N803
        """End the last generation."""
        self.steps_.marks.end_generation()


# A net is pickled with its callbacks; what a program did not give it must not be in there.
_beside: weakref.WeakKeyDictionary[object, Callback] = weakref.WeakKeyDictionary()


def install() -> None:
    """Let each net tell a callback beside it from now on, unless it has one of its own."""

    def wrap(notify: Any) -> Any:
        def told(self: Any, method_name: str, **kwargs: object) -> None:
            notify(self, method_name, **kwargs)
            if not any(isinstance(one, Callback) for _, one in self.callbacks_):
                USED["skorch"] = "an epoch"
                getattr(_beside.setdefault(self, Callback()), method_name)(self, **kwargs)

        return told

    wrap_method(_package.NeuralNet, "notify", wrap)
