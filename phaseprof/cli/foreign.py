"""A log of another tool, where a command is given one in place of a recorded run: it becomes a run for that command."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from phaseprof.cli.output import complain
from phaseprof.recording.addresses import is_address
from phaseprof.report.words import plural

RUN_HELP = "folder of a recorded run, one of its files, or a log to import"
# What the lines of a recording begin with; other tools write files of that suffix, too.
_RECORD, _MOST_READ = b'"k":', 64


@contextlib.contextmanager
def as_recording(path: str) -> Iterator[str]:
    """Yield where the recording is: the path itself or, of another tool's log, a run imported for as long as it lasts.

    Raises:
        ImportFailure: it is a file that is neither a recording nor a log that can be imported.
    Cost: as ``import_files``, and the disk space of the run.
    """
    if not _is_foreign(path):
        yield path
        return
    # Where it is needed only: a recorded run is judged without it.
    from phaseprof.analysis.imports import ImportFailure, import_files

    with tempfile.TemporaryDirectory(prefix="phaseprof-") as folder:
        where = path
        try:
            imported = import_files([Path(path)], Path(folder) / "run")
        except ImportFailure:
            if Path(path).is_file():
                raise  # of a folder of other things it is to be said that it is no run
        else:
            where, n = str(imported.run), plural(imported.n_readings, "reading")
            notes = "".join(f"; {note}" for note in imported.notes)
            were = "was" if imported.n_readings == 1 else "were"
            complain(f"{path} is not a recording; {n} {were} imported from it, as phaseprof import does{notes}")
        yield where


def _is_foreign(path: str) -> bool:
    """Whether a path leads to something local that is no recording, nor one that is damaged."""
    where = Path(path)
    if not path.strip() or is_address(path) or not where.exists():
        return False
    if where.is_dir():
        return not any(where.glob("*.jsonl"))
    if where.suffix != ".jsonl":
        return True
    try:
        with where.open("rb") as stream:
            start = stream.read(_MOST_READ)
    except OSError:
        return False  # which the reader words
    return start.startswith(b"{") and _RECORD not in start
