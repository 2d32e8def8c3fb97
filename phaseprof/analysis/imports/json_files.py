"""JSON: an object a line, a list of objects, or one document; trackers' histories, allocator dumps, tools' profiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from phaseprof.analysis.imports.builder import Builder, tell_left_out
from phaseprof.analysis.imports.columns import LABELS_OF_PROCESSES, STEPS, TIMES, normal
from phaseprof.analysis.imports.json_shapes import Row, implied_unit, is_settings, refuse_foreign, rows_in, shape_of
from phaseprof.analysis.imports.limits import fail, iter_lines, read_document
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_STEP, NO_TIME, Readings
from phaseprof.analysis.imports.times import read_time, scaled
from phaseprof.analysis.imports.units import Units, read_quantity

_POINT_KEYS = ("point", "label", "phase")
_BARE = re.compile(r"(?<=[:,\[\s])-?(?:NaN|Infinity)(?=[,}\]\s])")
_MAX_DEPTH = 8
_MOST_ITEMS = 64
_MOST_SKIPPED = 1000
_MOST_BYTES = 2.0**63


def read_json(file: Path, units: Units) -> list[Readings]:
    """Read one object a line, a list of objects, or a document that holds one.

    Raises:
        ImportFailure: not JSON, not objects, nothing about memory, or a step that is not a number.
    """
    reader = _JsonReader(file, units)
    for line, row in reader.rows():
        refuse_foreign(row, file)
        reader.add(row, line=line)
    return reader.finish()


def _is_whole_object(text: str) -> bool:
    try:
        return isinstance(_decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def _decode(text: str) -> object:
    """Decode JSON as trackers write it, with NaN, which JSON does not know: as a bare value it was not measured."""
    return msgspec.json.decode(_BARE.sub("null", text) if "N" in text or "Infinity" in text else text)


def _object(text: str, file: Path, *, line: int) -> Row:
    try:
        row = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise fail(file, f"it is not JSON ({error})", "fix or remove it", line=line) from error
    if not isinstance(row, dict):
        raise fail(file, f"there must be an object (got {type(row).__name__})", "fix or remove it", line=line)
    return row


class _JsonReader:
    """Takes in rows, and remembers what they hold besides."""

    def __init__(self, file: Path, units: Units) -> None:
        self._file, self._units = file, units
        self._builder = Builder(file, units)
        self._skipped: dict[str, None] = {}
        self._what = ""

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield (line, object); a document counts its entries instead of lines."""
        lines = iter_lines(self._file)
        first = next(((number, text) for number, text in lines if text.strip()), None)
        if first is None:
            raise fail(self._file, "it is empty", "give a file with readings")
        second = next(((number, text) for number, text in lines if text.strip()), None)
        if not first[1].lstrip().startswith("{") or not _is_whole_object(first[1]) or second is None:
            yield from enumerate(self._document_rows(), 1)
            return
        for number, text in (first, second):
            yield number, _object(text, self._file, line=number)
        for number, text in lines:
            if text.strip():
                yield number, _object(text, self._file, line=number)

    def _document_rows(self) -> Iterator[Row]:
        document = self._document()
        shape = shape_of(document)
        if shape is not None and isinstance(document, dict):
            self._what = shape.name
            units = self._units.of_format(is_binary=shape.is_binary)
            self._builder = Builder(self._file, units, point="log")
            try:
                yield from shape.rows(document)
            except ValueError as error:
                raise fail(self._file, f"it is {shape.name}, and {error}", "import it then") from error
            return
        if isinstance(document, dict):
            refuse_foreign(document, self._file)
        rows = rows_in(document)
        if rows is None:
            entries = document if isinstance(document, list) else [document]
            at, bad = next((at, entry) for at, entry in enumerate(entries, 1) if not isinstance(entry, dict))
            rule = f"entry {at} must be an object (got {type(bad).__name__})"
            raise fail(self._file, rule, "fix or remove it")
        yield from rows

    def _document(self) -> object:
        try:
            return _decode(read_document(self._file).decode("utf-8-sig"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            rule = f"it is not JSON ({error})"
            raise fail(self._file, rule, "give JSON lines or one JSON list of objects") from error

    def add(self, row: Row, *, line: int) -> None:
        """Take in one row."""
        if line == 1 and not self._what:
            implied = implied_unit(row)
            if implied is not None:
                self._builder = Builder(self._file, self._units.of_format(implied=implied))
        flat = _flatten(row, self._file, line=line)
        step = self._take_step(flat, line=line)
        time_s = self._take_time(flat, line=line)
        point = next((str(flat.pop(key)) for key in _POINT_KEYS if isinstance(flat.get(key), str)), "")
        process = _take_process(flat)
        device = flat.pop("device", None)
        prefix = f"cuda{device}." if isinstance(device, int) else (f"{device}." if isinstance(device, str) else "")
        if isinstance(flat.get("key"), str) and "value" in flat:
            flat = {str(flat["key"]): flat["value"]}
        for name, value in flat.items():
            figure = _figure(name, value)
            if figure is None:
                continue
            if not is_about_memory(name):
                if len(self._skipped) < _MOST_SKIPPED:
                    self._skipped[name] = None
                continue
            self._check(name, figure[0], line=line)
            self._builder.add(
                prefix + name, *figure, step=float(line - 1) if step is None else step, point=point, time_s=time_s,
                process=process,
            )  # fmt: skip

    def _check(self, name: str, number: float, *, line: int) -> None:
        if abs(number) > _MOST_BYTES:
            rule = f"{name} is more than any memory holds (got {number:g})"
            raise fail(self._file, rule, "fix or remove it", line=line)

    def _take_step(self, row: Row, *, line: int) -> float | None:
        found = _take(row, STEPS)
        if found is None:
            return None
        key, value = found
        number = value if isinstance(value, int | float) else _as_number(value)
        if number is None:
            rule = f"{key} must be a number (got {str(value)[:60]!r})"
            raise fail(self._file, rule, "fix or remove it", line=line)
        if number == NO_STEP and self._what:
            return NO_STEP
        if not 0 <= number <= 2**53:
            rule = f"step must be from 0 to 2**53 (got {str(number)[:20]})"
            raise fail(self._file, rule, "fix or remove it", line=line)
        return float(number)

    def _take_time(self, row: Row, *, line: int) -> float:
        found = _take(row, TIMES)
        if found is None:
            return NO_TIME
        key, value = found
        time_s = read_time(value) if isinstance(value, str) else None
        if isinstance(value, int | float):
            time_s = scaled(float(value / 1e9 if key == "timestamp_ns" else value)) if abs(value) < 1e300 else None
        if time_s is None:
            rule = f"{key} must be a time (got {str(value)[:60]!r})"
            raise fail(self._file, rule, "fix or remove it", line=line)
        return time_s

    def finish(self) -> list[Readings]:
        """Return what was taken in.

        Raises:
            ImportFailure: nothing was.
        """
        if self._skipped:
            self._builder.notes.append(tell_left_out(list(self._skipped)))
        readings = self._builder.finish()
        if not readings:
            names = ", ".join(self._skipped)[:160] or "nothing"
            what = f"it is {self._what}, and " if self._what else ""
            raise fail(self._file, f"{what}no name in it is about memory (got {names})", "log the memory metrics too")
        return readings


def _flatten(row: Row, file: Path, *, line: int, depth: int = 0) -> Row:
    if depth > _MAX_DEPTH:
        raise fail(file, f"objects must not be nested over {_MAX_DEPTH} deep", "flatten them", line=line)
    flat: Row = {}
    for key, value in row.items():
        inner = _items(value)
        if inner is None:
            flat[key] = value
        elif not is_settings(key):
            below = _flatten(inner, file, line=line, depth=depth + 1)
            flat.update({f"{key}.{name}": inside for name, inside in below.items()})
    return flat


def _items(value: object) -> Row | None:
    """Return what lies below a value; the objects of a list go by their index, as devices do."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return {str(item.get("index", at)): item for at, item in enumerate(value[:_MOST_ITEMS])}
    return None


def _take(row: Row, wanted: tuple[str, ...]) -> tuple[str, object] | None:
    """Take out all values whose keys name an axis, and return the best that there is."""
    by_name: dict[str, str] = {}
    for key in row:
        by_name.setdefault(normal(key.rpartition("/")[2]), key)
    found = [(by_name[name], row.pop(by_name[name])) for name in wanted if name in by_name]
    return next(((key, value) for key, value in found if value is not None and not isinstance(value, bool)), None)


def _take_process(row: Row) -> str:
    named = [key for key in row if normal(key) in LABELS_OF_PROCESSES and isinstance(row[key], str | int)]
    texts = [(key.lower(), str(row.pop(key))[:100]) for key in named]
    return " ".join(f"{key} {text}" if text.isdigit() else text for key, text in texts if text)


def _figure(name: str, value: object) -> tuple[float, bool] | None:
    """Return a value and whether it is in bytes; ``None`` where it is no figure."""
    if isinstance(value, bool) or name.startswith("_"):
        return None
    if isinstance(value, int | float):
        return (float(value) if abs(value) < 1e300 else 1e300), False
    quantity = read_quantity(value) if isinstance(value, str) else None
    if quantity is None or quantity.is_percent:
        return None
    return quantity.number * (quantity.factor or 1.0), quantity.factor is not None


def _as_number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
