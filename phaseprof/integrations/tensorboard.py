"""TensorBoard: the figures of a profiler as scalars of a ``SummaryWriter``, and the findings as a text with a table.

    pp.integrations.tensorboard.watch(writer)   # logs at the end of each generation

Any writer with ``add_scalar`` and ``add_text`` will do: torch's, or that of tensorboardX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from phaseprof.integrations._log import FINDINGS, Cell, Step, Watch, markdown_of

if TYPE_CHECKING:
    from phaseprof.profiler import Findings, Profiler

__all__ = ["watch"]


class Writer(Protocol):
    """What is needed of a ``SummaryWriter``."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> object:
        """Write a number."""

    def add_text(self, tag: str, text_string: str, global_step: int | None = None) -> object:
        """Write a text, which may be Markdown."""


def watch(writer: Writer, *, profiler: Profiler | None = None, every: int = 1, step: Step | None = None) -> None:
    """Log by itself at the end of every ``every``-th generation.

    The findings are written when the profiler or the writer is closed, whichever comes first.

    Args:
        writer: where.
        profiler: whose figures; ``None``: the default one.
        every: log every so many generations.
        step: tells the step, such as ``lambda: trainer.global_step``; ``None``: generations are counted.

    Raises:
        UsageError: ``every`` is less than 1.
    """
    watching = Watch(_Sink(writer), profiler, every=every, step=step)
    if hasattr(writer, "close"):
        watching.before(writer, "close")


class _Sink:
    """Logs to a writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._step = 0

    def scalars(self, figures: dict[str, float], step: int) -> None:
        self._step = step
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def findings(self, findings: Findings, rows: list[list[Cell]]) -> None:
        self._writer.add_text(FINDINGS, markdown_of(findings, rows), self._step)
