"""TensorBoard event files: each scalar tag about memory is a metric, its step the step."""

from __future__ import annotations

from pathlib import Path

from phaseprof.analysis.event_files import read_scalars
from phaseprof.analysis.imports.builder import Builder, tell_left_out
from phaseprof.analysis.imports.limits import fail
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import Readings
from phaseprof.analysis.imports.units import Units


def is_event_file(file: Path) -> bool:
    """Tell whether a file is named as TensorBoard names its event files."""
    return "tfevents" in file.name


def read_event_files(where: Path, units: Units) -> list[Readings]:
    """Read one event file, or all below a folder: each folder of them is a run of its own, so a process here.

    Raises:
        ImportFailure: no tag is about memory, or no file can be read.
    """
    folder = read_scalars(where)
    builder = Builder(where, units, point="scalars")
    builder.notes.extend(folder.errors)
    wanted = [series for series in folder.series if is_about_memory(series.tag)]
    left = list(dict.fromkeys(series.tag for series in folder.series if not is_about_memory(series.tag)))
    has_many = len({series.run for series in wanted}) > 1
    for series in wanted:
        for step, value, time_s in zip(series.steps, series.values, series.wall_times_s, strict=True):
            if step >= 0:
                builder.add(series.tag, value, step=step, time_s=time_s, process=series.run if has_many else "")
    if not wanted:
        found = "; ".join(folder.errors) or f"no tag is about memory (got {', '.join(left[:8]) or 'no scalar'})"
        raise fail(where, found, "log the memory figures as scalars too")
    if left:
        builder.notes.append(tell_left_out(left))
    return builder.finish()
