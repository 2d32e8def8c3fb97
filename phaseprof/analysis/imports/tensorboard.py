"""TensorBoard event files: each scalar tag about memory is a metric, its step the step."""

from __future__ import annotations

from pathlib import Path

from phaseprof.analysis.imports.limits import fail
from phaseprof.analysis.imports.names import Units
from phaseprof.analysis.imports.readings import Readings


def is_event_file(file: Path) -> bool:
    """Tell whether a file is named as TensorBoard names its event files."""
    return "tfevents" in file.name


def read_event_files(where: Path, units: Units) -> list[Readings]:
    """Read one event file, or all of a folder as one run that was restarted."""
    raise fail(where, "event files are not read yet", "export the scalars as CSV")
