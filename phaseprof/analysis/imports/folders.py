"""Folders that trackers write: event files of TensorBoard's, runs of W&B's, metrics of MLflow's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from phaseprof.analysis.imports.builder import Builder, tell_left_out
from phaseprof.analysis.imports.limits import fail, iter_lines, read_start
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_TIME, Readings
from phaseprof.analysis.imports.tensorboard import is_event_file, read_event_files
from phaseprof.analysis.imports.times import scaled
from phaseprof.analysis.imports.units import Units

# MLflow's file store: time in milliseconds, value, step.
_MLFLOW_LINE = re.compile(r"(?P<time>\d{10,16}) (?P<value>\S+)(?: (?P<step>-?\d{1,15}))?\s*\Z")
_MOST_FILES = 100_000


def read_folder(folder: Path, units: Units, read: Callable[[Path, Units], list[Readings]]) -> list[Readings]:
    """Read what a tracker wrote into a folder.

    Args:
        folder: with the files in it or below.
        units: what is known of units.
        read: reads one file.

    Raises:
        ImportFailure: it holds nothing of a known tracker.
    """
    files = [file for at, file in enumerate(sorted(folder.rglob("*"))) if at < _MOST_FILES and file.is_file()]
    if any(map(is_event_file, files)):
        return read_event_files(folder, units)
    runs = [file for file in files if file.suffix == ".wandb" and not file.is_symlink()]
    if runs:
        return [readings for run in _distinct(runs) for readings in read(run, units)]
    metrics = [file for file in files if not file.name.startswith(".") and is_mlflow(read_start(file, 4096))]
    if metrics:
        return read_mlflow(metrics, folder, units)
    rule = "it is a folder with no TensorBoard event file, no W&B run and no MLflow metric"
    raise fail(folder, rule, "give the files in it that hold readings")


def _distinct(files: list[Path]) -> Iterator[Path]:
    """Yield each file once: a tracker links the newest run beside the others."""
    seen: set[Path] = set()
    for file in files:
        if file.resolve() not in seen:
            seen.add(file.resolve())
            yield file


def is_mlflow(start: bytes) -> bool:
    """Tell whether a file is one metric of MLflow's file store."""
    lines = start.decode("utf-8", "replace").splitlines()[:3]
    return bool(lines) and all(_MLFLOW_LINE.match(line) for line in lines)


def read_mlflow(files: list[Path], where: Path, units: Units) -> list[Readings]:
    """Read metrics of MLflow's file store: each file is named by its metric; each run is a process.

    Raises:
        ImportFailure: no metric is about memory, or a line cannot be read.
    """
    builder = Builder(where, units, point="metrics")
    left = []
    several = len({_run_of(file) for file in files}) > 1
    for file in files:
        metric = _metric_of(file)
        if is_about_memory(metric):
            _add_metric(builder, file, metric, process=_run_of(file) if several else "")
        else:
            left.append(metric)
    readings = builder.finish()
    if not readings:
        raise fail(where, f"no metric in it is about memory (got {', '.join(left[:8])})", "log the memory metrics too")
    if left:
        readings[0].notes.append(tell_left_out(left))
    return readings


def _add_metric(builder: Builder, file: Path, metric: str, *, process: str) -> None:
    for line, text in iter_lines(file):
        found = _MLFLOW_LINE.match(text)
        try:
            value = float(found["value"]) if found else None
        except ValueError:
            value = None
        if found is None or value is None:
            rule = f"a line must be time, value and step (got {text[:60]!r})"
            raise fail(file, rule, "fix or remove it", line=line)
        time_s = scaled(float(found["time"]))
        step = float(found["step"] or line - 1)
        if step >= 0 and abs(value) < 2**63:
            builder.add(metric, value, step=step, time_s=NO_TIME if time_s is None else time_s, process=process)


def _parts(file: Path) -> tuple[str, str]:
    """Part a path into the run's folder and the metric's name, which may hold slashes."""
    names = list(file.parts)
    if "metrics" in names[:-1]:
        at = len(names) - 2 - names[-2::-1].index("metrics")
        return names[at - 1] if at else "", "/".join(names[at + 1 :])
    return file.parent.name, file.name


def _run_of(file: Path) -> str:
    return _parts(file)[0]


def _metric_of(file: Path) -> str:
    return _parts(file)[1]
