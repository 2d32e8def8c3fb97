"""Transformers: an epoch is a generation, or so many steps where epochs are few; the trainer's steps are phases.

trainer = Trainer(..., callbacks=[pp.integrations.transformers.Callback()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import USED, Steps, quietly, wrap_method

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

try:
    import transformers as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.transformers needs transformers; pip install transformers") from error

__all__ = ["Callback", "install"]

# With fewer epochs a verdict would be short of readings; then the steps are parted into so many generations.
FEW_EPOCHS, PARTS = 12, 32


class Callback(_package.TrainerCallback):
    """Marks epochs and their steps; give it to ``Trainer(callbacks=[...])``.

    Args:
        profiler: which; ``None``: the default one.
        every: optimizer steps that are one generation; ``None``: an epoch, or a 32nd of the training where there are
            fewer than 12 epochs.
    """

    def __init__(self, profiler: Profiler | None = None, *, every: int | None = None) -> None:
        self.steps_ = Steps("transformers", profiler)
        self._asked = every
        self._every: int | None = None
        self._waiting: list[str] = []
        self._began_at = 0

    @quietly
    def on_train_begin(self, args: object, state: Any, control: object, **kwargs: object) -> None:
        """Choose what a generation is."""
        self._every = self._asked
        if self._asked is None and state.num_train_epochs < FEW_EPOCHS:
            self._every = max(1, int(state.max_steps) // PARTS)

    @quietly
    def on_epoch_begin(self, args: object, state: Any, control: object, **kwargs: object) -> None:
        """Begin a generation, if epochs are generations."""
        if self._every is None:
            self.steps_.marks.generation(round(float(state.epoch or 0.0)))

    @quietly
    def on_step_begin(self, args: object, state: Any, control: object, **kwargs: object) -> None:
        """Begin a generation, if steps are parted into generations, and a step of training."""
        marks = self.steps_.marks
        if self._every is not None and state.global_step % self._every == 0:
            marks.generation(f"step {state.global_step}")
        marks.switch("training")

    @quietly
    def on_step_end(self, args: object, state: object, control: Any, **kwargs: object) -> None:
        """What the trainer does next is known: log, evaluate, save, in that order."""
        wanted = {
            "logging": control.should_log, "evaluation": control.should_evaluate, "checkpoint": control.should_save,
        }  # fmt: skip
        self._go_on([name for name, is_due in wanted.items() if is_due])

    @quietly
    def on_epoch_end(self, args: object, state: object, control: Any, **kwargs: object) -> None:
        """As after a step."""
        self.on_step_end(args, state, control)

    @quietly
    def on_log(self, args: object, state: object, control: object, **kwargs: object) -> None:
        """Logging is done."""
        self._done("logging")

    @quietly
    def on_evaluate(self, args: object, state: object, control: object, **kwargs: object) -> None:
        """An evaluation is done."""
        self._done("evaluation")

    @quietly
    def on_save(self, args: object, state: object, control: object, **kwargs: object) -> None:
        """A checkpoint is written."""
        self._done("checkpoint")

    @quietly
    def on_train_end(self, args: object, state: object, control: object, **kwargs: object) -> None:
        """End the last generation."""
        self._waiting = []
        self.steps_.marks.end_generation()

    def _done(self, name: str) -> None:
        if self._waiting[:1] == [name]:
            self._go_on(self._waiting[1:])

    def _go_on(self, waiting: list[str]) -> None:
        """Begin the phase that comes next; what lies between steps and is none of them is the loop's own."""
        self._waiting = waiting
        if waiting:
            self.steps_.marks.switch(waiting[0])
        else:
            self.steps_.marks.switch("between steps")


def install() -> None:
    """Give each ``Trainer`` that is made from now on a callback, unless it has one."""

    def wrap(make: Any) -> Any:
        def init(self: Any, *args: object, **kwargs: object) -> None:
            make(self, *args, **kwargs)
            if not any(isinstance(one, Callback) for one in self.callback_handler.callbacks):
                self.add_callback(Callback())
                USED["Transformers"] = "an epoch, or a part of the steps where epochs are few,"

        return init

    wrap_method(_package.Trainer, "__init__", wrap)
