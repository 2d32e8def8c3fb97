"""MLflow: the figures of a profiler as metrics of a run, and the findings as artifacts and a tag.

pp.integrations.mlflow.watch()              # once, after mlflow.start_run(): logs at the end of each generation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phaseprof.errors import MissingExtra, UsageError
from phaseprof.integrations._log import COLUMNS, CONCLUSION, FINDINGS, Cell, Step, Watch

if TYPE_CHECKING:
    from phaseprof.profiler import Findings, Profiler

try:
    import mlflow as _package
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.mlflow needs mlflow; pip install mlflow") from error

__all__ = ["watch"]


def watch(
    run_id: str | None = None, *, profiler: Profiler | None = None, every: int = 1, step: Step | None = None
) -> None:
    """Log by itself at the end of every ``every``-th generation.

    The findings are logged when the profiler is closed, at the latest when the interpreter ends: as the artifacts
    ``phaseprof/findings.txt`` and ``phaseprof/findings.json`` (a table), and the conclusion as a tag.  A run that was
    ended takes them, too.

    Args:
        run_id: the run; ``None``: the active one.
        profiler: whose figures; ``None``: the default one.
        every: log every so many generations.
        step: tells the step; ``None``: generations are counted.

    Raises:
        UsageError: no run is active, or ``every`` is less than 1.
    """
    Watch(_Sink(_active() if run_id is None else run_id), profiler, every=every, step=step)


def _active() -> str:
    run = _package.active_run()
    if run is None:
        raise UsageError("no mlflow run is active; call mlflow.start_run() first, or give the run's id: watch(run_id)")
    return str(run.info.run_id)


class _Sink:
    """Logs to a run by its id, through the tracking server that was set when it was begun."""

    def __init__(self, run_id: str) -> None:
        self._client: Any = _package.MlflowClient()
        self._run_id = run_id

    def scalars(self, figures: dict[str, float], step: int) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._run_id, name, value, step=step)

    def findings(self, findings: Findings, rows: list[list[Cell]]) -> None:
        self._client.set_tag(self._run_id, CONCLUSION, findings.conclusion)
        self._client.log_text(self._run_id, str(findings), f"{FINDINGS}.txt")
        table = {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}
        self._client.log_table(self._run_id, table, f"{FINDINGS}.json")
