"""Weights & Biases: the figures of a profiler as scalars beside a run's own, under the names that trainers use.

    import phaseprof as pp

    pp.integrations.wandb.watch()               # once, after wandb.init(): logs at the end of each generation
    pp.integrations.wandb.log(step=step)        # or by hand, when you like

Keys: ``memory/{name}/size_mb`` and ``memory/{name}/growth_mb_per_epoch`` of each tracked name,
``system/gpu_memory_allocated_MB``, ``system/gpu_memory_reserved_MB``, ``system/process_memory_MB``, and ``train/sps``
where generations say how many items they do. MB are 10**6 bytes.  At the end of the run the findings follow: the
conclusion and the text in the summary, and a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from phaseprof.api import get_profiler
from phaseprof.errors import MissingExtra, UsageError
from phaseprof.integrations._log import COLUMNS, CONCLUSION, FINDINGS, Cell, Watch

if TYPE_CHECKING:
    from phaseprof.profiler import Findings, Profiler

__all__ = ["log", "scalars", "watch"]


class Run(Protocol):
    """What is needed of a ``wandb`` run."""

    def log(self, data: dict[str, Any], step: int | None = None) -> object:
        """Record scalars."""


def scalars(profiler: Profiler | None = None) -> dict[str, float]:
    """Return the newest figures by their W&B keys; what was not measured is not there.

    Args:
        profiler: whose; ``None``: the default one.

    Cost: a millisecond for a run of 4,096 kept generations; nothing is read from disk.
    """
    return (get_profiler() if profiler is None else profiler).scalars()


def log(run: Run | None = None, *, profiler: Profiler | None = None, step: int | None = None) -> dict[str, float]:
    """Log the newest figures to a run, online or offline, and return them.

    Args:
        run: the run; ``None``: the one that ``wandb.init`` began.
        profiler: whose figures; ``None``: the default one.
        step: the step they belong to; ``None``: as ``wandb`` counts.

    Raises:
        UsageError: no run was begun.
        MissingExtra: ``wandb`` is not installed.
    """
    target = _current() if run is None else run
    figures = scalars(profiler)
    if figures:
        target.log(figures, step=step)
    return figures


def watch(run: Run | None = None, *, profiler: Profiler | None = None, every: int = 1) -> None:
    """Log by itself at the end of every ``every``-th generation, as one point of the run's own steps.

    The findings are logged when the profiler is closed or the run is finished, whichever comes first.  What logging
    raises is told once as a warning: a tracker that is down must not end a training run.

    Raises:
        UsageError: no run was begun, or ``every`` is less than 1.
        MissingExtra: ``wandb`` is not installed.
    """
    target = _current() if run is None else run
    watching = Watch(_Sink(target), profiler, every=every, step=None)
    if hasattr(target, "finish"):
        watching.before(target, "finish")


class _Sink:
    """Logs to a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def scalars(self, figures: dict[str, float], step: int) -> None:
        self._run.log(figures)

    def findings(self, findings: Findings, rows: list[list[Cell]]) -> None:
        summary = getattr(self._run, "summary", None)
        if summary is None:  # one that takes scalars only
            return
        import wandb

        self._run.log({FINDINGS: wandb.Table(columns=list(COLUMNS), data=rows)})
        summary.update({CONCLUSION: findings.conclusion, f"{FINDINGS}_text": str(findings)})


def _current() -> Run:
    try:
        import wandb
    except ImportError as error:
        raise MissingExtra("phaseprof.integrations.wandb needs wandb; install phaseprof[wandb]") from error
    if wandb.run is None:
        raise UsageError("no wandb run is active; call wandb.init() first, or give the run: log(run)")
    current: Run = wandb.run
    return current
