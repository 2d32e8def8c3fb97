"""Lightning: an epoch is a generation; training, validation, checkpoints and the other callbacks are phases.

    trainer = Trainer(callbacks=[pp.integrations.lightning.Callback()])

The package is ``lightning``, or ``pytorch_lightning`` where only that one is there or imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        import pytorch_lightning as _package
    else:
        try:
            import lightning.pytorch as _package
        except ImportError:
            import pytorch_lightning as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.lightning needs lightning; pip install lightning") from error

__all__ = ["Callback", "install"]

_WITHIN = _package.__name__.partition(".")[0]
_CHECKPOINT = "checkpoint"


class Callback(_package.Callback):
    """Marks epochs and their steps; give it to ``Trainer(callbacks=[...])``.

    Args:
        profiler: which; ``None``: the default one.
    """

    def __init__(self, profiler: Profiler | None = None) -> None:
        super().__init__()
        self.steps_ = Steps(_WITHIN, profiler)

    @quietly
    def on_train_epoch_start(self, trainer: Any, pl_module: object) -> None:
        """Begin a generation, and the training in it."""
        marks = self.steps_.marks
        marks.generation(int(trainer.current_epoch))
        marks.enter("training")

    @quietly
    def on_train_batch_start(self, trainer: object, pl_module: object, batch: object, batch_idx: int) -> None:
        """A checkpoint that was saved on the way is written."""
        self.steps_.marks.leave(_CHECKPOINT)

    @quietly
    def on_train_epoch_end(self, trainer: object, pl_module: object) -> None:
        """What follows until the next epoch is done by other callbacks."""
        self.steps_.marks.switch("callbacks")

    @quietly
    def on_validation_start(self, trainer: Any, pl_module: object) -> None:
        """Begin a validation, or the trial of one before the training."""
        self.steps_.marks.leave(_CHECKPOINT)
        self.steps_.marks.enter("sanity check" if trainer.sanity_checking else "validation")

    @quietly
    def on_validation_end(self, trainer: object, pl_module: object) -> None:
        """End it."""
        self.steps_.marks.leave("validation")
        self.steps_.marks.leave("sanity check")

    @quietly
    def on_test_start(self, trainer: object, pl_module: object) -> None:
        """Begin a test."""
        self.steps_.marks.enter("test")

    @quietly
    def on_test_end(self, trainer: object, pl_module: object) -> None:
        """End it."""
        self.steps_.marks.leave("test")

    @quietly
    def on_predict_start(self, trainer: object, pl_module: object) -> None:
        """Begin a prediction."""
        self.steps_.marks.enter("prediction")

    @quietly
    def on_predict_end(self, trainer: object, pl_module: object) -> None:
        """End it."""
        self.steps_.marks.leave("prediction")

    @quietly
    def on_save_checkpoint(self, trainer: object, pl_module: object, checkpoint: object) -> None:
        """A checkpoint is written from here until the training goes on."""
        self.steps_.marks.leave(_CHECKPOINT)
        self.steps_.marks.enter(_CHECKPOINT)

    @quietly
    def on_train_end(self, trainer: object, pl_module: object) -> None:
        """End the last generation."""
        self.steps_.marks.end_generation()

    @quietly
    def on_exception(self, trainer: object, pl_module: object, exception: BaseException) -> None:
        """End what is open: a part of an epoch is not measured."""
        self.steps_.marks.end_generation(failed=True)


def install() -> None:
    """Give each ``Trainer`` that is made from now on a callback, unless it has one."""

    def wrap(make: Any) -> Any:
        def init(self: Any, *args: object, **kwargs: object) -> None:
            make(self, *args, **kwargs)
            if not any(isinstance(one, Callback) for one in self.callbacks):
                self.callbacks.insert(0, Callback())
                USED["Lightning"] = "an epoch"

        return init

    wrap_method(_package.Trainer, "__init__", wrap)
