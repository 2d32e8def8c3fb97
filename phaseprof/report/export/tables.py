"""Tidy tables: one reading of one metric a row, as CSV and as Parquet."""

from __future__ import annotations

import csv
import gzip
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from phaseprof.errors import MissingExtra
from phaseprof.recording import format as fmt
from phaseprof.report.export.stream import ProcessStream, open_streams
from phaseprof.units import safe_cell

COLUMNS = ("step", "point", "metric", "value", "time_s", "index")
_BATCH_ROWS = 65536

Row = tuple[int, str, str, float, float, "int | str", str]


def rows_of(streams: list[ProcessStream]) -> Iterator[Row]:
    """Yield (step, point, metric, value, time in s, index, process); step -1 is outside all generations.

    A generation's length and items are rows of their own, at the point where it ended.
    """
    for stream in streams:
        for record in stream.records():
            if isinstance(record, fmt.GenerationEnd):
                yield from _end_rows(stream, record)
                continue
            reading = stream.reading(record)
            if reading is None:
                continue
            index = stream.indices.get(reading.g, reading.g)
            time_s = stream.unix_s(reading.t)
            for metric, value in reading.values.items():
                yield reading.g, reading.point, metric, value, time_s, index, stream.name


def _end_rows(stream: ProcessStream, end: fmt.GenerationEnd) -> Iterator[Row]:
    index, time_s = stream.indices.get(end.g, end.g), stream.unix_s(end.t)
    yield end.g, "generation end", "generation_seconds", end.seconds, time_s, index, stream.name
    if end.items >= 0:
        yield end.g, "generation end", "generation_items", end.items, time_s, index, stream.name


def write_csv(run: Path, out: Path) -> int:
    """Write ``step,point,metric,value,time_s,index`` and, of several processes, ``process``; return the rows.

    ``step`` is the ordinal of the generation, empty outside of all; ``index`` the user's own number or name for it.
    What ``phaseprof import`` makes of the file has series identical to the run's.  ``.gz`` at the end packs it.

    Cost: about 2 µs a row.
    """
    streams = open_streams(run)
    has_process = len(streams) > 1
    n = 0
    with _open_text(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*COLUMNS, "process") if has_process else COLUMNS)
        for step, point, metric, value, time_s, index, process in rows_of(streams):
            first = ("" if step < 0 else step, safe_cell(point), safe_cell(metric))
            row = (*first, _exact(value), f"{time_s:.6f}", "" if step < 0 else safe_cell(index))
            writer.writerow((*row, safe_cell(process)) if has_process else row)
            n += 1
    return n


def _open_text(out: Path) -> IO[str]:
    if out.suffix == ".gz":
        return gzip.open(out, "wt", encoding="utf-8", newline="")
    return out.open("w", encoding="utf-8", newline="")


def _exact(value: float) -> str:
    """Write a number so that reading it gives the same one; whole numbers without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def write_parquet(run: Path, out: Path) -> int:
    """Write the same table as Parquet, in row groups of 65,536; return the rows.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("Parquet needs pyarrow, which is not installed; pip install 'phaseprof[parquet]'") from error
    schema = arrow.schema([
        ("step", arrow.int64()), ("point", arrow.string()), ("metric", arrow.string()), ("value", arrow.float64()),
        ("time_s", arrow.float64()), ("index", arrow.string()), ("process", arrow.string()),
    ])  # fmt: skip
    n = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in _batches(rows_of(open_streams(run))):
            steps, points, metrics, values, times, indices, names = zip(*batch, strict=True)
            steps = tuple(None if step < 0 else step for step in steps)
            columns = [steps, points, metrics, tuple(map(float, values)), times, tuple(map(str, indices)), names]
            writer.write_table(arrow.table(columns, schema=schema))
            n += len(batch)
    return n


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch
