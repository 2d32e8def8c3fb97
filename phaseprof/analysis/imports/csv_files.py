"""Tidy CSV files, a reading a line: the form that an export of a run has."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from phaseprof.analysis.imports.builder import Builder
from phaseprof.analysis.imports.limits import fail, iter_lines
from phaseprof.analysis.imports.readings import NO_STEP, NO_TIME, Readings
from phaseprof.analysis.imports.units import Units
from phaseprof.units import plain_cell

TIDY = ("step", "point", "metric", "value")
_TIDY_MORE = ("time_s", "process", "index")
_MEMRAY_COLUMNS = {"allocator", "num_allocations", "size"}
_NO_VALUE = {"", "nan", "null", "none", "inf", "-inf", "infinity", "-infinity"}


def is_tidy(start: str) -> bool:
    """Whether a file begins with the columns of a tidy CSV, or of a table of memray's."""
    columns = {name.strip().strip('"') for name in start.partition("\n")[0].lstrip("\ufeff").split(",")}
    return set(TIDY) <= columns or columns >= _MEMRAY_COLUMNS


def read_tidy_csv(file: Path, units: Units) -> list[Readings]:
    """Read a tidy CSV: one reading a line.

    Raises:
        ImportFailure: a line breaks its rule, or it is a table of memray's.
    """
    rows = _rows(file)
    header = next(rows, (0, []))[1]
    columns = [name.strip() for name in header]
    if len(set(columns)) != len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise fail(file, f"column {twice!r} appears twice", "name each column once", line=1)
    if set(TIDY) <= set(columns):
        return _read_tidy(file, rows, columns, units)
    rule = "a memray table has totals for each place and no readings over time"
    raise fail(file, rule, "import memray's own .bin file where memray is installed, or log rss_bytes by step")


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((f"{text}\n" for _, text in iter_lines(file)), strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise fail(file, f"it is not CSV ({error})", "quote that field or fix it", line=reader.line_num) from error
        if row:
            yield reader.line_num, row


def _read_tidy(file: Path, rows: Iterator[tuple[int, list[str]]], columns: list[str], units: Units) -> list[Readings]:
    # Only an export of a run has the column index: its steps are ordinals, its names and units ours.
    builder = Builder(file, units, is_own_export="index" in columns)
    at = {name: columns.index(name) for name in (*TIDY, *_TIDY_MORE) if name in columns}
    extra = [name for name in columns if name not in at]
    if extra:
        builder.notes.append(f"columns that are not read: {', '.join(extra)}")
    step_at, point_at, metric_at, value_at = (at[name] for name in TIDY)
    time_at, process_at, index_at = (at.get(name, -1) for name in _TIDY_MORE)
    for line, row in rows:
        if len(row) != len(columns):
            raise fail(file, f"there must be {len(columns)} fields (got {len(row)})", "fix or remove it", line=line)
        value = _number(row[value_at], "value", file, line=line)
        if math.isnan(value):
            continue
        if not row[metric_at]:
            raise fail(file, "metric must not be empty", "name it or remove the line", line=line)
        step = _step(row[step_at], file, line=line)
        process = row[process_at] if process_at >= 0 else ""
        time_s = _number(row[time_at], "time_s", file, line=line) if time_at >= 0 else NO_TIME
        metric, point, process = map(plain_cell, (row[metric_at], row[point_at], process))
        builder.add(metric, value, step=step, point=point, time_s=time_s, process=process)
        if index_at >= 0 and step != NO_STEP:
            readings = builder.process(process)
            readings.are_ordinals = True
            readings.indices[step] = _index(plain_cell(row[index_at]))
    return builder.finish()


def _number(text: str, what: str, file: Path, *, line: int) -> float:
    if text.strip().lower() in _NO_VALUE:
        return NO_TIME
    try:
        number = float(text)
    except ValueError as error:
        raise fail(file, f"{what} must be a number (got {text[:60]!r})", "fix or remove it", line=line) from error
    return number if math.isfinite(number) else NO_TIME


def _step(text: str, file: Path, *, line: int) -> float:
    step = _number(text, "step", file, line=line)
    if math.isnan(step):
        return NO_STEP
    if not 0 <= step <= 2**53:
        raise fail(file, f"step must be from 0 to 2**53 (got {text[:60]})", "fix or remove it", line=line)
    return step


def _index(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text
