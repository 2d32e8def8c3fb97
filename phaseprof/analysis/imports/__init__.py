"""Makes a run of what other tools recorded, so that existing logs get a verdict.

Foreign files are data: nothing in them is run, what is read of them is bounded, and an error is one line that names
the file, the line, the rule and the next step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phaseprof.analysis.imports.csv_files import is_tidy, read_tidy_csv
from phaseprof.analysis.imports.described import describe_text
from phaseprof.analysis.imports.folders import is_mlflow, read_folder, read_mlflow
from phaseprof.analysis.imports.json_files import read_json
from phaseprof.analysis.imports.limits import ImportFailure, fail, read_start
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.patterns import parse_patterns, read_free_log, read_known_text, read_patterns
from phaseprof.analysis.imports.profiles import is_memray, is_mprof, read_memray, read_mprof
from phaseprof.analysis.imports.prometheus import is_prometheus, read_prometheus
from phaseprof.analysis.imports.readings import Readings
from phaseprof.analysis.imports.sqlite_files import is_sqlite, read_sqlite
from phaseprof.analysis.imports.tables import read_table
from phaseprof.analysis.imports.tensorboard import is_event_file, read_event_files
from phaseprof.analysis.imports.units import Units, parse_units
from phaseprof.analysis.imports.wandb_files import is_wandb, read_wandb
from phaseprof.analysis.imports.write import write_run

__all__ = ["ImportFailure", "Imported", "import_files", "parse_patterns", "parse_units"]


# A document of JSON begins so; a log may begin with a time or a level in brackets.
_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{\]"])|\ufeff\s*[\[{]')


@dataclass(frozen=True)
class Imported:
    """What became of one import.

    Attributes:
        run: the folder that was written.
        n_processes: processes in it; each file is one unless it names several.
        n_readings: values taken in.
        n_steps: steps of the longest process.
        points: names of the points, in order.
        metrics: names of the metrics as they are called in the run, in order.
        notes: what was assumed or left out.
    """

    run: Path
    n_processes: int
    n_readings: int
    n_steps: int
    points: tuple[str, ...]
    metrics: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the import as JSON-ready data."""
        return {
            "format": 1, "run": str(self.run), "processes": self.n_processes, "readings": self.n_readings,
            "steps": self.n_steps, "points": list(self.points), "metrics": list(self.metrics),
            "notes": list(self.notes),
        }  # fmt: skip


def import_files(
    files: Sequence[Path], out: Path, *, units: Units | None = None, patterns: Sequence[re.Pattern[str]] = ()
) -> Imported:
    """Read foreign files and write them as one run; all are read before anything is written.

    Args:
        files: tables, logs of text, JSON, text of Prometheus's, files and folders of trackers, mprof ``.dat``, memray
            captures, SQLite databases; texts also gzip'd.  Each file is a process of its own, or several.
        out: folder of the run, made anew.
        units: what the user said about units; see ``parse_units``.
        patterns: regular expressions with named groups, by which the files are read as logs; see ``parse_patterns``.

    Raises:
        ImportFailure: a file breaks the rules of its format, or the unit of a size is not known.
        UsageError: ``out`` holds a recording already.
    Cost: 3 to 7 µs and 40 bytes a reading.
    """
    units = units or Units()
    processes = [
        readings
        for file in files
        for readings in (read_patterns(file, patterns, units) if patterns else _read(file, units))
    ]
    write_run(processes, out)
    return Imported(
        run=out,
        n_processes=len(processes),
        n_readings=sum(map(len, processes)),
        n_steps=max((len(readings.steps()) for readings in processes), default=0),
        points=tuple(dict.fromkeys(name for readings in processes for name in readings.point_names())),
        metrics=tuple(dict.fromkeys(name for readings in processes for name in readings.metric_names())),
        notes=tuple(dict.fromkeys(note for readings in processes for note in readings.notes)),
    )


def _read(file: Path, units: Units) -> list[Readings]:
    if file.is_dir():
        return read_folder(file, units, _read)
    if is_event_file(file):
        return read_event_files(file, units)
    start = read_start(file)
    if not start.strip():
        raise fail(file, "it is empty", "give a file with readings")
    if is_sqlite(start):
        return read_sqlite(file, units)
    if is_wandb(start):
        return read_wandb(file, units)
    if is_memray(start):
        return read_memray(file)
    if start[:1] == b"\x80" or start.startswith(b"PK\x03\x04"):
        rule = "it is a pickle or archive, not a log"
        raise fail(file, rule, "for CUDA memory snapshots use: phaseprof snapshots DIR")
    if is_mprof(start):
        return read_mprof(file)
    readings = _read_text(file, start, units)
    if not readings:
        raise fail(file, "it has no reading", "give a file with at least one value")
    return readings


def _read_text(file: Path, start: bytes, units: Units) -> list[Readings]:
    text = start.decode("utf-8", "replace")
    if is_prometheus(start):
        return read_prometheus(file, units)
    if _JSON.match(text):
        return read_json(file, units)
    if is_mlflow(start) and is_about_memory(file.name):
        return read_mlflow([file], file, units)
    if is_tidy(text):
        return read_tidy_csv(file, units)
    readings = read_known_text(file, text, units)
    if readings is None:
        readings = read_table(file, units)
    if readings is None:
        readings = read_free_log(file, units)
    if readings is None:
        raise describe_text(file, text)
    return readings
