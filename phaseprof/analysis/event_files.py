"""Scalars of TensorBoard event files, read as data through the ``tensorboard`` package's own record reader."""

from __future__ import annotations

import importlib
import logging
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from phaseprof.errors import MissingExtra, RecordingError, UsageError
from phaseprof.units import format_bytes

MAX_EVENT_FILE_BYTES = 1 << 30

_NAME_PART = "tfevents"


@dataclass(frozen=True)
class ScalarSeries:
    """One tag of one folder of event files.

    Attributes:
        tag: as the program wrote it.
        run: the folder below the one that was given, "." for itself.
        steps: (n,) strictly increasing; of several values for one step the last written stays.
        values: (n,) finite values in the unit of the program.
        wall_times_s: (n,) seconds since the epoch.
    """

    tag: str
    run: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    wall_times_s: tuple[float, ...]


@dataclass(frozen=True)
class EventFolder:
    """All scalars below a folder, and one line for each file that could not be read to its end."""

    series: tuple[ScalarSeries, ...]
    errors: tuple[str, ...]


def read_scalars(path: Path) -> EventFolder:
    """Read all scalars of an event file, or of every event file in and below a folder.

    Both ways in which writers store a scalar are read: as a plain value and as a tensor with one element.

    Raises:
        MissingExtra: the ``tensorboard`` package is not installed.
        UsageError: there is no such path, or no event file below it.

    Cost: about 15 µs a scalar.
    """
    files = _event_files(path)
    _require_tensorboard()
    found: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    errors: list[str] = []
    for file in files:
        run = "." if path.is_file() else str(file.parent.relative_to(path))
        try:
            for tag, step, value, wall_time_s in _scalars_of(file):
                found.setdefault((run, tag), {})[step] = (value, wall_time_s)
        except RecordingError as error:
            errors.append(str(error))
    return EventFolder(tuple(_series(run, tag, points) for (run, tag), points in sorted(found.items())), tuple(errors))


def _event_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(
            f"the folder of event files must exist (got {str(path)!r}); pass the folder that holds *.tfevents.*"
        )
    files = sorted(file for file in path.rglob(f"*{_NAME_PART}*") if file.is_file())
    if not files:
        raise UsageError(f"{str(path)!r} holds no TensorBoard event file; pass the folder that holds *.tfevents.*")
    return files


def _require_tensorboard() -> None:
    try:
        import tensorboard  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "reading TensorBoard event files needs the package tensorboard; install it with: "
            "pip install 'phaseprof[tensorboard]'"
        ) from error


def _series(run: str, tag: str, points: dict[int, tuple[float, float]]) -> ScalarSeries:
    steps = sorted(points)
    return ScalarSeries(
        tag=tag,
        run=run,
        steps=tuple(steps),
        values=tuple(points[step][0] for step in steps),
        wall_times_s=tuple(points[step][1] for step in steps),
    )


def _scalars_of(file: Path) -> Iterator[tuple[str, int, float, float]]:
    size = file.stat().st_size
    if size > MAX_EVENT_FILE_BYTES:
        raise RecordingError(
            f"{file.name} has {format_bytes(size)}, more than the {format_bytes(MAX_EVENT_FILE_BYTES)} that are read; "
            "split or thin the log"
        )
    n_events = 0
    for event in _events_of(file):
        n_events += 1
        for item in event.summary.value:  # type: ignore[attr-defined]
            value = _scalar(item)
            if value is not None and math.isfinite(value):
                yield item.tag, int(event.step), value, float(event.wall_time)  # type: ignore[attr-defined]
    if not n_events:
        raise RecordingError(
            f"{file.name} is not a TensorBoard event file: no record in it is whole; pass another file"
        )


def _events_of(file: Path) -> Iterable[object]:
    """Yield the events up to the end or the first damaged record, as a log that is still being written needs it."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    damaged = importlib.import_module("google.protobuf.message").DecodeError
    with _quiet():
        try:
            yield from LegacyEventFileLoader(str(file)).Load()
        except (damaged, UnicodeDecodeError, ValueError, OSError, MemoryError, OverflowError) as error:
            raise RecordingError(
                f"{file.name} is not a readable TensorBoard event file: {type(error).__name__}; pass another file"
            ) from error


def _scalar(item: object) -> float | None:
    kind = item.WhichOneof("value")  # type: ignore[attr-defined]
    if kind == "simple_value":
        return float(item.simple_value)  # type: ignore[attr-defined]
    if kind != "tensor" or len(item.tensor.tensor_content) > 8:  # type: ignore[attr-defined]
        return None
    from tensorboard.util.tensor_util import make_ndarray

    try:
        array = make_ndarray(item.tensor)  # type: ignore[attr-defined]
    except (TypeError, ValueError, KeyError):
        return None
    return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "fiu" else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the reader's own log lines about damaged records off the terminal: the caller says it in one line."""
    logger = logging.getLogger("tensorboard")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
