"""JSON lines and JSON lists of objects: histories of experiment trackers, and dumps of ``torch.cuda.memory_stats``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from phaseprof.analysis.imports.builder import Builder
from phaseprof.analysis.imports.csv_files import tell_left_out
from phaseprof.analysis.imports.limits import fail, iter_lines, read_document
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_TIME, Readings
from phaseprof.analysis.imports.units import Units

_STEP_KEYS = ("_step", "step", "global_step", "trainer/global_step", "iteration", "generation", "epoch")
_TIME_KEYS = ("_timestamp", "timestamp", "time_s", "time", "_runtime")
_POINT_KEYS = ("point", "label", "phase")
_BARE = re.compile(r"(?<=[:,\[\s])-?(?:NaN|Infinity)(?=[,}\]\s])")
_MAX_DEPTH = 8

Row = dict[str, object]


def read_json(file: Path, units: Units) -> list[Readings]:
    """Read one object a line, a list of objects, or one object.

    Raises:
        ImportFailure: not JSON, not objects, nothing about memory, or a step that is not a number.
    """
    builder = Builder(file, units)
    skipped: dict[str, None] = {}
    for line, row in _rows(file):
        _refuse_foreign(row, file)
        _add_row(builder, _flatten(row, file, line=line), skipped, line=line)
    if skipped:
        builder.notes.append(tell_left_out(list(skipped)))
    readings = builder.finish()
    if not readings:
        names = ", ".join(skipped)[:160] or "nothing"
        raise fail(file, f"no name in it is about memory (got {names})", "log the memory metrics too")
    return readings


def _rows(file: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line, object); a JSON list counts its entries instead of lines."""
    lines = iter_lines(file)
    first = next(((number, text) for number, text in lines if text.strip()), None)
    if first is None:
        raise fail(file, "it is empty", "give a file with readings")
    if not first[1].lstrip().startswith("{") or not _is_whole_object(first[1]):
        yield from enumerate(_document_rows(file), 1)
        return
    yield first[0], _object(first[1], file, line=first[0])
    for number, text in lines:
        if text.strip():
            yield number, _object(text, file, line=number)


def _is_whole_object(text: str) -> bool:
    try:
        _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _document_rows(file: Path) -> list[Row]:
    try:
        document = _decode(read_document(file).decode("utf-8-sig"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise fail(file, f"it is not JSON ({error})", "give JSON lines or one JSON list of objects") from error
    rows: list[Row] = []
    for at, row in enumerate(document if isinstance(document, list) else [document], 1):
        if not isinstance(row, dict):
            raise fail(file, f"entry {at} must be an object (got {type(row).__name__})", "fix or remove it")
        rows.append(row)
    return rows


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


def _refuse_foreign(row: Mapping[str, object], file: Path) -> None:
    if "total_num_allocations" in row or "top_locations_by_size" in row:
        rule = "memray stats are totals of a whole run and have no readings over time"
        raise fail(file, rule, "import memray's own .bin file where memray is installed, or log rss_bytes by step")


def _flatten(row: Row, file: Path, *, line: int, depth: int = 0) -> Row:
    if depth > _MAX_DEPTH:
        raise fail(file, f"objects must not be nested over {_MAX_DEPTH} deep", "flatten them", line=line)
    flat: Row = {}
    for key, value in row.items():
        if isinstance(value, dict):
            inner = _flatten(value, file, line=line, depth=depth + 1)
            flat.update({f"{key}.{name}": inside for name, inside in inner.items()})
        else:
            flat[key] = value
    return flat


def _add_row(builder: Builder, row: Row, skipped: dict[str, None], *, line: int) -> None:
    step = _take_number(row, _STEP_KEYS, builder.file, line=line)
    if step is not None and not 0 <= step <= 2**53:
        raise fail(builder.file, f"step must be from 0 to 2**53 (got {step:g})", "fix or remove it", line=line)
    time_s = _take_number(row, _TIME_KEYS, builder.file, line=line)
    point = next((str(row.pop(key)) for key in _POINT_KEYS if isinstance(row.get(key), str)), "")
    device = row.pop("device", None)
    prefix = f"cuda{device}." if isinstance(device, int) else (f"{device}." if isinstance(device, str) else "")
    for name, value in row.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or name.startswith("_"):
            continue
        if not is_about_memory(name):
            if len(skipped) < 1000:
                skipped[name] = None
            continue
        builder.add(
            prefix + name, float(value), step=float(line - 1) if step is None else step, point=point,
            time_s=NO_TIME if time_s is None else time_s,
        )  # fmt: skip


def _take_number(row: Row, keys: tuple[str, ...], file: Path, *, line: int) -> float | None:
    for key in keys:
        value = row.pop(key, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if value is not None:
            raise fail(file, f"{key} must be a number (got {str(value)[:60]!r})", "fix or remove it", line=line)
    return None
