"""Read a pickled CUDA memory snapshot as data: no code can run, and a few bytes cannot take the memory.

A snapshot is dicts, lists, strings and numbers. Its opcodes are therefore checked one by one before anything is
loaded: what names a global, calls, or could take more memory than is allowed is refused. The loading itself is left to
the C unpickler, with every look-up of a class forbidden and the cycle collector paused (it would scan hundreds of
thousands of growing dicts in vain and doubles the time).
"""

from __future__ import annotations

import gc
import gzip
import io
import pickle
import zlib
from pathlib import Path
from typing import NoReturn

from phaseprof.analysis.snapshots.footprint import (
    BINUNICODE,
    FIXED_OPCODES,
    LONG_BINPUT,
    SHORT_BINUNICODE,
    close_bound,
    end_of_variable,
    quick_bound,
)
from phaseprof.errors import SnapshotError
from phaseprof.units import format_bytes

# A loaded snapshot takes up to ten times its file, and no file may take more than that of the largest that is read.
MAX_SNAPSHOT_BYTES = 50_000_000
MEMORY_BY_BYTE = 10

_READ_STEP_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"

_STOP, _PROTO = 0x2E, 0x80
_WITH_ARGUMENT = frozenset(b"Khq\x80MJj\x8aG\x95")

# What the C unpickler raises on bytes that are cut or wrong; hostile ones may hit the last three.
_LOAD_ERRORS = (
    pickle.UnpicklingError, ValueError, EOFError, IndexError, KeyError, TypeError, AttributeError,
    OverflowError, MemoryError, RecursionError,
)  # fmt: skip


class _DataUnpickler(pickle.Unpickler):
    """An unpickler that resolves no name at all."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse every global."""
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: object) -> NoReturn:
        """Refuse every persistent id."""
        raise pickle.UnpicklingError("it holds a persistent id")


def load_snapshot(path: Path, *, max_bytes: int = MAX_SNAPSHOT_BYTES) -> tuple[object, int]:
    """Load one snapshot file, plain or gzip'd.

    Args:
        path: the file.
        max_bytes: most bytes of pickle to read, counted after decompression; ten times as many may be taken in memory.

    Returns:
        The root object (made of dicts, lists, tuples, strings, numbers, bools and ``None`` only) and the number of
        pickle bytes it came from.

    Raises:
        SnapshotError: the file is missing, empty, cut, too large, could take too much memory, or holds what no
            snapshot holds.

    Cost: about 30 ns a byte, 0.35 s for 380,000 blocks (12 MB), twice that for larger ones; memory nine times the file.
    """
    data = _read_bytes(path, max_bytes)
    n_texts = _check_opcodes(data, path.name)
    _check_footprint(data, n_texts, path.name, max_memory=MEMORY_BY_BYTE * max_bytes)
    return _load(data, path.name), len(data)


def _read_bytes(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as stream:
            head = stream.read(2)
            stream.seek(0)
            if head == _GZIP_MAGIC:
                data = _inflate(stream, max_bytes, path.name)
            else:
                # A read makes room for all it is asked for, so ask for no more than the file has.
                data = stream.read(min(path.stat().st_size, max_bytes) + 1)
    except OSError as error:
        raise unreadable(path.name, f"{error.strerror or error}", "check the path and its permissions") from error
    if not data:
        raise unreadable(path.name, "it is empty", "dump the snapshot again")
    if len(data) > max_bytes:
        raise unreadable(
            path.name, f"it holds more than {format_bytes(max_bytes)} of pickle", "raise the limit with --max-file-size"
        )
    return data


def _inflate(stream: io.BufferedReader, max_bytes: int, name: str) -> bytes:
    """Decompress little by little and no further than past the cap, so that a small bomb stays small."""
    parts: list[bytes] = []
    total = 0
    try:
        with gzip.GzipFile(fileobj=stream) as inflated:
            while total <= max_bytes and (part := inflated.read(_READ_STEP_BYTES)):
                parts.append(part)
                total += len(part)
    except EOFError as error:
        raise unreadable(name, "its gzip stream is cut short", "copy or dump it again") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise unreadable(name, f"its gzip stream is damaged ({error})", "copy or dump it again") from error
    return b"".join(parts)


def _check_opcodes(data: bytes, name: str) -> int:
    """Refuse bytes that are not a pickle of plain data: after this check loading cannot name code.

    Returns:
        How many texts it holds.
    """
    if data[0] != _PROTO:
        raise unreadable(name, "it is not a pickle of protocol 2 or later", "pass files written by _dump_snapshot")
    position, end = 0, len(data)
    n_texts = n_entries = 0
    skip_fixed = FIXED_OPCODES.match
    while position < end:
        run = skip_fixed(data, position)
        if run:
            position = run.end()
            continue
        opcode = data[position]
        if opcode == _STOP:
            position += 1
            break
        if opcode == LONG_BINPUT:
            n_entries += 1
            _check_entry(data, position, n_entries, name)
        elif opcode in (SHORT_BINUNICODE, BINUNICODE):
            n_texts += 1
        else:
            _refuse_opcode(data, position, name)
        position = end_of_variable(data, position)
    if position != end or data[-1] != _STOP:
        raise _cut_short(name)
    return n_texts


def _check_entry(data: bytes, position: int, n_entries: int, name: str) -> None:
    """The unpickler makes room for twice the index: honest files number their entries one by one, from 256 on here."""
    if int.from_bytes(data[position + 1 : position + 5], "little") > 4 * (n_entries + 256):
        raise unreadable(name, "it announces more entries than it has", "do not trust this file")


def _refuse_opcode(data: bytes, position: int, name: str) -> None:
    if data[position] in _WITH_ARGUMENT and len(data) - position < 12:
        raise _cut_short(name)  # in the middle of an argument
    raise unreadable(
        name,
        f"byte {position} holds pickle opcode 0x{data[position]:02x}, and snapshots hold plain data only",
        "do not unpickle this file: it may run code",
    )


def _cut_short(name: str) -> SnapshotError:
    return unreadable(name, "it is cut short or has bytes after its end", "copy or dump it again")


def _check_footprint(data: bytes, n_texts: int, name: str, *, max_memory: int) -> None:
    if quick_bound(data, n_texts) <= max_memory:
        return
    most = close_bound(data)
    if most > max_memory:
        took = f"up to {format_bytes(most)}" if most < 1 << 50 else "no end"
        rule = f"its {format_bytes(len(data))} could take {took} of memory, and {format_bytes(max_memory)} is the limit"
        raise unreadable(name, rule, "raise it with --max-file-size, of which ten times as much is the limit")


def _load(data: bytes, name: str) -> object:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _DataUnpickler(io.BytesIO(data)).load()
    except _LOAD_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise unreadable(name, f"its pickle is damaged ({reason})", "copy or dump it again") from error
    finally:
        if was_enabled:
            gc.enable()


def unreadable(name: str, rule: str, next_step: str) -> SnapshotError:
    """Build the one-line error for a file that is no readable snapshot.

    >>> str(unreadable("a.pickle", "it is empty", "dump it again"))
    'a.pickle is not a readable snapshot: it is empty; dump it again'
    """
    line = f"{name} is not a readable snapshot: {rule}; {next_step}"
    return SnapshotError("".join(char if char.isprintable() else "?" for char in line))
