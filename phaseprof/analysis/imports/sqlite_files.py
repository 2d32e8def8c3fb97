"""SQLite databases, as MLflow and other trackers keep their metrics: each table is read as any other table is."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from phaseprof.analysis.imports.columns import measures_by_row, plan_columns
from phaseprof.analysis.imports.layouts import Layout
from phaseprof.analysis.imports.limits import MAX_READINGS, fail
from phaseprof.analysis.imports.readings import Readings
from phaseprof.analysis.imports.tables import TableReader
from phaseprof.analysis.imports.units import Units
from phaseprof.analysis.metric_roles import words_of

_MARK = b"SQLite format 3\x00"
_HEAD_ROWS = 300
_MOST_TABLES = 500


def is_sqlite(start: bytes) -> bool:
    """Tell whether a file is an SQLite database."""
    return start.startswith(_MARK)


def read_sqlite(file: Path, units: Units) -> list[Readings]:
    """Read every table that measures memory over time; the database is opened for reading only, and no view is run.

    Raises:
        ImportFailure: it is damaged, or no table of it measures memory.
    """
    found: dict[str, list[Readings]] = {}
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            for table in _tables(database):
                readings = _read_table(database, table, file, units)
                if readings:
                    found[table] = readings
    except sqlite3.Error as error:
        raise fail(file, f"it seems to be an SQLite database, and cannot be read ({error})", "copy it again") from error
    if not found:
        rule = "it seems to be an SQLite database, and no table of it measures memory over time"
        raise fail(file, rule, "export the table of its metrics as CSV")
    if len(found) > 1:
        for table, readings in found.items():
            for one in readings:
                one.name = f"{table} {one.name}".strip()
    return [one for readings in found.values() for one in readings]


def _tables(database: sqlite3.Connection) -> list[str]:
    """Return the tables, without those that hold the newest value only beside one that holds all."""
    names = [str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [name for name in names[:_MOST_TABLES] if name.removeprefix("latest_") == name or len(names) == 1]


def _read_table(database: sqlite3.Connection, table: str, file: Path, units: Units) -> list[Readings]:
    quoted = '"' + table.replace('"', '""') + '"'
    cursor = database.execute(f"SELECT * FROM {quoted} LIMIT {MAX_READINGS}")  # noqa: S608  # a name, quoted
    names = [str(column[0]) for column in cursor.description]
    plan = plan_columns(names)
    if not plan.metrics and not measures_by_row(plan):
        return []
    layout = Layout(lambda text: text.split("\t"), plan, "\t".join(names))
    head = [_cells(row) for row in cursor.fetchmany(_HEAD_ROWS)]
    prefix = "system_" if "system" in words_of(table) else ""
    reader = TableReader(file, units, layout, head, prefix=prefix)
    for number, cells in enumerate(_all(head, cursor), 1):
        reader.take_cells(number, cells)
    return reader.finish()


def _all(head: list[list[str]], cursor: sqlite3.Cursor) -> Iterator[list[str]]:
    yield from head
    for row in cursor:
        yield _cells(row)


def _cells(row: tuple[object, ...]) -> list[str]:
    return ["" if cell is None or isinstance(cell, bytes) else str(cell)[:1000] for cell in row]
