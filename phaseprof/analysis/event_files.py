"""Scalars of TensorBoard event files, read as data and without any package of TensorBoard's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phaseprof.analysis.event_records import Scalar, read_event, read_records
from phaseprof.errors import RecordingError, UsageError
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
        UsageError: there is no such path, or no event file below it.

    Cost: about 15 µs a scalar.
    """
    files = _event_files(path)
    found: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    errors: list[str] = []
    for file in files:
        run = "." if path.is_file() else str(file.parent.relative_to(path))
        try:
            for one in _scalars_of(file):
                found.setdefault((run, one.tag), {})[one.step] = (one.value, one.wall_time_s)
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


def _series(run: str, tag: str, points: dict[int, tuple[float, float]]) -> ScalarSeries:
    steps = sorted(points)
    return ScalarSeries(
        tag=tag,
        run=run,
        steps=tuple(steps),
        values=tuple(points[step][0] for step in steps),
        wall_times_s=tuple(points[step][1] for step in steps),
    )


def _scalars_of(file: Path) -> Iterator[Scalar]:
    size = file.stat().st_size
    if size > MAX_EVENT_FILE_BYTES:
        raise RecordingError(
            f"{file.name} has {format_bytes(size)}, more than the {format_bytes(MAX_EVENT_FILE_BYTES)} that are read; "
            "split or thin the log"
        )
    n_events = 0
    try:
        with file.open("rb") as stream:
            for event in read_records(stream):
                n_events += 1
                for scalar in read_event(event):
                    if math.isfinite(scalar.value):
                        yield scalar
    except (ValueError, OSError) as error:
        raise RecordingError(
            f"{file.name} is not a readable TensorBoard event file: {type(error).__name__}; pass another file"
        ) from error
    if not n_events:
        raise RecordingError(
            f"{file.name} is not a TensorBoard event file: no record in it is whole; pass another file"
        )
