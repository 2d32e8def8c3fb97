"""CSV files: tidy ones with a reading a line, and exports of experiment trackers with a step a line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from phaseprof.analysis.imports.builder import Builder
from phaseprof.analysis.imports.limits import fail, iter_lines
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_STEP, NO_TIME, Readings
from phaseprof.analysis.imports.units import Units

TIDY = ("step", "point", "metric", "value")
_TIDY_MORE = ("time_s", "process", "index")
_STEP_COLUMNS = ("_step", "Step", "global_step", "trainer/global_step", "step", "iteration", "epoch")
_TIME_COLUMNS = ("_timestamp", "_runtime", "time_s", "Relative Time (Process)", "Wall time")
_MEMRAY_COLUMNS = {"allocator", "num_allocations", "size"}
_NO_VALUE = {"", "nan", "null", "none", "inf", "-inf", "infinity", "-infinity"}


def read_csv(file: Path, units: Units) -> list[Readings]:
    """Read a tidy CSV, or a tracker's export with a ``_step`` or ``Step`` column.

    Raises:
        ImportFailure: neither, or a line that breaks its rule.
    """
    rows = _rows(file)
    header = next(rows, (0, []))[1]
    columns = [name.strip() for name in header]
    if len(set(columns)) != len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise fail(file, f"column {twice!r} is there twice", "name each column once", line=1)
    if set(TIDY) <= set(columns):
        return _read_tidy(file, rows, columns, units)
    if set(columns) >= _MEMRAY_COLUMNS:
        rule = "a memray table has totals for each place and no readings over time"
        raise fail(file, rule, "import memray's own .bin file where memray is installed, or log rss_bytes by step")
    step_column = next((name for name in _STEP_COLUMNS if name in columns), None)
    if step_column is not None:
        return _read_wide(file, rows, columns, step_column=step_column, units=units)
    rule = f"the first line must name columns step,point,metric,value or hold _step (got {','.join(columns)[:120]!r})"
    raise fail(file, rule, "rename the columns", line=1)


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
        builder.add(row[metric_at], value, step=step, point=row[point_at], time_s=time_s, process=process)
        if index_at >= 0 and step != NO_STEP:
            readings = builder.process(process)
            readings.are_ordinals = True
            readings.indices[step] = _index(row[index_at])
    return builder.finish()


def _read_wide(
    file: Path, rows: Iterator[tuple[int, list[str]]], columns: list[str], *, step_column: str, units: Units
) -> list[Readings]:
    """Read one line a step.  Columns of a chart are named ``run - metric``: each run becomes a process."""
    builder = Builder(file, units, point="history")
    step_at = columns.index(step_column)
    time_at = next((columns.index(name) for name in _TIME_COLUMNS if name in columns), -1)
    wanted: list[tuple[int, str, str]] = []
    left = []
    for at, name in enumerate(columns):
        run, _, metric = name.rpartition(" - ")
        if at in (step_at, time_at) or metric.endswith(("__MIN", "__MAX")) or metric.startswith("_"):
            continue
        if is_about_memory(metric):
            wanted.append((at, run, metric))
        else:
            left.append(name)
    _need_some(file, wanted, columns)
    if left:
        builder.notes.append(tell_left_out(left))
    for line, row in rows:
        if len(row) != len(columns):
            raise fail(file, f"there must be {len(columns)} fields (got {len(row)})", "fix or remove it", line=line)
        step = _step(row[step_at], file, line=line)
        time_s = _number(row[time_at], columns[time_at], file, line=line) if time_at >= 0 else NO_TIME
        for at, run, metric in wanted:
            value = _number(row[at], metric, file, line=line)
            builder.add(metric, value, step=step, time_s=time_s, process=run)
    return builder.finish()


def tell_left_out(names: list[str]) -> str:
    """Say which columns of a log were left out because they are not about memory."""
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"left out, since by their names they are not about memory: {shown}"


def _need_some(file: Path, wanted: list[tuple[int, str, str]], columns: list[str]) -> None:
    if not wanted:
        rule = f"no column's name is about memory (got {', '.join(columns)[:160]})"
        raise fail(file, rule, "export the memory metrics too, or bring them in as step,point,metric,value", line=1)


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
