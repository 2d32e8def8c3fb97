"""A run's ``.wandb`` file, as W&B writes it beside a run, offline too: the history, and the monitor's figures.

Source: the framing of LevelDB's log (blocks of 32 KiB; checksum, length and kind before each part of a record), and the
fields of W&B's ``Record``.  Checksums are not verified: what is damaged fails to parse.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

import msgspec

from phaseprof.analysis.imports.builder import Builder, tell_left_out
from phaseprof.analysis.imports.limits import fail, open_binary
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_TIME, Readings
from phaseprof.analysis.imports.times import scaled
from phaseprof.analysis.imports.units import Units
from phaseprof.analysis.wire import read_fields

_MARK = b":W&B"
_HEADER_BYTES = 7
_BLOCK_BYTES = 1 << 15
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_LARGEST_RECORD = 16 << 20
# Fields of Record, HistoryRecord, HistoryItem, StatsRecord, StatsItem.
_HISTORY, _STATS = 2, 7
_HISTORY_ITEM, _HISTORY_STEP = 1, 2
_STATS_TIME, _STATS_ITEM = 2, 3
_KEY, _NESTED_KEY, _JSON = 1, 2, 16
_MOST_BYTES = 2.0**63


def is_wandb(start: bytes) -> bool:
    """Tell whether a file is a run's record of W&B's."""
    return start.startswith(_MARK)


def read_wandb(file: Path, units: Units) -> list[Readings]:
    """Read the history by its steps, and what the monitor of the system took in between as a process of its own.

    Raises:
        ImportFailure: nothing in it is about memory.
    """
    history = Builder(file, units, point="history")
    system = Builder(file, units.of_format(is_binary=True), point="monitor")  # it divides by 1024 and writes MB
    left: dict[str, None] = {}
    n_stats = n_records = 0
    with open_binary(file) as stream:
        for n_records, record in enumerate(_records(stream), 1):  # noqa: B007  # counted
            try:
                for number, _, content in read_fields(record):
                    if number == _HISTORY and isinstance(content, bytes):
                        _add_history(history, content, left)
                    elif number == _STATS and isinstance(content, bytes):
                        _add_stats(system, content, n_stats, left)
                        n_stats += 1
            except ValueError:  # a damaged record: the ones after it are whole again
                continue
    readings = [*history.finish(), *_named_monitor(system.finish(), has_history=bool(history.processes))]
    if not readings:
        what = ", ".join(list(left)[:8]) or f"{n_records} records without a figure"
        raise fail(file, f"it is a W&B run, and none of its metrics is about memory (got {what})", "log it too")
    if left:
        readings[0].notes.append(tell_left_out(list(left)))
    return readings


def _named_monitor(readings: list[Readings], *, has_history: bool) -> list[Readings]:
    if has_history:
        for one in readings:
            one.name = "system monitor"
    return readings


def _records(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield records, parts joined; ends at the first thing that is none, as in a file that is being written."""
    stream.read(_HEADER_BYTES)
    at, parts = _HEADER_BYTES, b""
    while True:
        left = _BLOCK_BYTES - at % _BLOCK_BYTES
        if left < _HEADER_BYTES:
            stream.read(left)
            at += left
        head = stream.read(_HEADER_BYTES)
        if len(head) < _HEADER_BYTES:
            return
        _, length, kind = struct.unpack("<IHB", head)
        content = stream.read(length)
        at += _HEADER_BYTES + length
        if len(content) < length or kind not in (_WHOLE, _FIRST, _MIDDLE, _LAST):
            return
        parts = content if kind in (_WHOLE, _FIRST) else parts + content
        if len(parts) > _LARGEST_RECORD:
            parts = b""
        elif kind in (_WHOLE, _LAST) and parts:
            yield parts


def _add_history(builder: Builder, record: bytes, left: dict[str, None]) -> None:
    values: dict[str, float] = {}
    step = -1.0
    for number, _, content in read_fields(record):
        if number == _HISTORY_ITEM and isinstance(content, bytes):
            values.update(_item(content))
        elif number == _HISTORY_STEP and isinstance(content, bytes):
            step = _first_number(content)
    step = values.get("_step", step)
    _add(builder, values, step if 0 <= step <= 2**53 else -1.0, values.get("_timestamp"), left)


def _add_stats(builder: Builder, record: bytes, step: int, left: dict[str, None]) -> None:
    values: dict[str, float] = {}
    time_s = None
    for number, _, content in read_fields(record):
        if number == _STATS_ITEM and isinstance(content, bytes):
            values.update(_item(content))
        elif number == _STATS_TIME and isinstance(content, bytes):
            time_s = _first_number(content)
    _add(builder, {f"system.{name}": value for name, value in values.items()}, float(step), time_s, left)


def _first_number(message: bytes) -> float:
    return float(next((value for at, _, value in read_fields(message) if at == 1 and isinstance(value, int)), 0))


def _add(builder: Builder, values: dict[str, float], step: float, time_s: float | None, left: dict[str, None]) -> None:
    at_s = None if time_s is None else scaled(time_s)
    for name, value in values.items():
        if name.startswith("_") or abs(value) > _MOST_BYTES:
            continue
        if is_about_memory(name):
            builder.add(name, value, step=step, time_s=NO_TIME if at_s is None else at_s)
        elif len(left) < 1000:
            left.setdefault(name)


def _item(record: bytes) -> dict[str, float]:
    """Return the figures of one key: one, or those of the nest that it holds."""
    keys: list[str] = []
    value: object = None
    for number, _, content in read_fields(record):
        if not isinstance(content, bytes):
            continue
        if number in (_KEY, _NESTED_KEY):
            keys.append(content.decode("utf-8", "replace"))
        elif number == _JSON:
            try:
                value = msgspec.json.decode(content)
            except (msgspec.DecodeError, RecursionError):
                value = None  # NaN and the like: not measured
    return dict(_figures(".".join(keys), value))


def _figures(name: str, value: object, depth: int = 0) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict) and depth < 8:
        for key, inner in value.items():
            yield from _figures(f"{name}.{key}" if name else str(key), inner, depth + 1)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        yield name, float(value)
