"""Writes a recording in other tools' formats, streaming it from its files: memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from phaseprof.errors import UsageError
from phaseprof.recording.reader import load_run
from phaseprof.records import Finding
from phaseprof.report.export.openmetrics import Load, write_openmetrics
from phaseprof.report.export.perfetto import write_perfetto
from phaseprof.report.export.speedscope import write_speedscope
from phaseprof.report.export.tables import write_csv, write_parquet

__all__ = [
    "FORMATS", "export_run", "write_csv", "write_openmetrics", "write_parquet", "write_perfetto", "write_speedscope",
]  # fmt: skip

Write = Callable[[Path, Path, Sequence[Finding], Load], int]

_WRITERS: dict[str, Write] = {
    "csv": lambda run, out, findings, load: write_csv(run, out),
    "parquet": lambda run, out, findings, load: write_parquet(run, out),
    "perfetto": lambda run, out, findings, load: write_perfetto(run, out, findings=findings),
    "openmetrics": lambda run, out, findings, load: write_openmetrics(run, out, load=load),
    "speedscope": lambda run, out, findings, load: write_speedscope(run, out, load=load),
}
FORMATS = tuple(_WRITERS)


def export_run(run: Path, out: Path, *, form: str, findings: Sequence[Finding] = (), load: Load = load_run) -> int:
    """Write a run to a file in one of ``FORMATS``; return how many readings or events were written.

    The file appears when it is whole; a failure leaves what was there before.  ``load`` reads the run for a format that
    needs all of it.

    Raises:
        UsageError: the format is not known, or the file cannot be written.
        RecordingError: the run cannot be read.
        MissingExtra: Parquet without pyarrow.
    """
    write = _WRITERS.get(form)
    if write is None:
        raise UsageError(f"format must be one of {', '.join(FORMATS)} (got {form!r})")
    part = out.with_name(f".{out.name}.part{'.gz' if out.suffix == '.gz' else ''}")
    try:
        n = write(run, part, findings, load)
        part.replace(out)
    except OSError as error:
        rule = f"cannot write {out}: {error.strerror or error}"
        raise UsageError(f"{rule}; give a file in a folder that can be written") from error
    finally:
        part.unlink(missing_ok=True)
    return n
