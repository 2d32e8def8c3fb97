"""Read a pickled CUDA memory snapshot as data: no code can run, and a few bytes cannot take the memory.

A snapshot is dicts, lists, strings and numbers. Its opcodes are therefore checked one by one before anything is
loaded: what names a global, calls, or announces more than the file holds is refused. The loading itself is left to
the C unpickler, with every look-up of a class forbidden and the cycle collector paused (it would scan hundreds of
thousands of growing dicts in vain and doubles the time).
"""

from __future__ import annotations

import gc
import gzip
import io
import pickle
import re
import zlib
from pathlib import Path
from typing import NoReturn

from phaseprof.errors import SnapshotError
from phaseprof.units import format_bytes

# A loaded snapshot takes five to nine times its file: at this cap it stays under 5 GB.
MAX_SNAPSHOT_BYTES = 512 << 20

_READ_STEP_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"

# One match eats a run of opcodes whose length is known from their first bytes. The run is bounded because the
# regular expression engine keeps a record of every repetition until the match ends.
_FIXED_OPCODES = re.compile(
    rb"(?:[(}\]uae\x85\x86\x87\x94\x88\x89Nts)]+"  # marks, empty containers, appends, tuples, memoize, bools, None
    rb"|[Khq\x80]."  # BININT1, BINGET, BINPUT, PROTO
    rb"|M..|[Jj]...."  # BININT2, BININT, LONG_BINGET
    rb"|\x8a(?:\x06.{6}|\x05.{5}|\x04.{4}|\x03.{3}|\x07.{7}|\x08.{8}|\x01.|\x02..|\x00|\x09.{9})"  # LONG1 to 72 bits
    rb"|[G\x95].{8}"  # BINFLOAT, FRAME
    rb"){1,1000}",
    re.DOTALL,
)
_SHORT_BINUNICODE, _BINUNICODE, _LONG_BINPUT, _STOP = 0x8C, 0x58, 0x72, 0x2E
_PROTO = 0x80
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
        max_bytes: most bytes of pickle to read, counted after decompression.

    Returns:
        The root object (made of dicts, lists, tuples, strings, numbers, bools and ``None`` only) and the number of
        pickle bytes it came from.

    Raises:
        SnapshotError: the file is missing, empty, cut, too large, or holds what no snapshot holds.

    Cost: about 30 ns a byte, 0.35 s for 380,000 blocks (12 MB); memory five to nine times the file.
    """
    data = _read_bytes(path, max_bytes)
    _check_opcodes(data, path.name)
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


def _check_opcodes(data: bytes, name: str) -> None:
    """Refuse bytes that are not a pickle of plain data; after this check loading cannot name code or over-allocate."""
    if data[0] != _PROTO:
        raise unreadable(name, "it is not a pickle of protocol 2 or later", "pass files written by _dump_snapshot")
    position, end = 0, len(data)
    skip_fixed = _FIXED_OPCODES.match
    while position < end:
        run = skip_fixed(data, position)
        if run:
            position = run.end()
            continue
        opcode = data[position]
        if opcode == _STOP:
            position += 1
            break
        position = _skip_variable(data, position, name)
    if position != end or data[-1] != _STOP:
        raise unreadable(name, "it is cut short or has bytes after its end", "copy or dump it again")


def _skip_variable(data: bytes, position: int, name: str) -> int:
    opcode = data[position]
    if opcode == _SHORT_BINUNICODE:
        return position + 2 + (data[position + 1] if position + 1 < len(data) else 0)
    if opcode == _BINUNICODE:
        return position + 5 + int.from_bytes(data[position + 1 : position + 5], "little")
    if opcode == _LONG_BINPUT:
        # The unpickler makes room for twice the index: honest files number their entries one by one.
        if int.from_bytes(data[position + 1 : position + 5], "little") > len(data):
            raise unreadable(name, "it announces more entries than it has bytes", "do not trust this file")
        return position + 5
    if opcode in _WITH_ARGUMENT and len(data) - position < 12:
        return len(data) + 1  # the end of the file cut its argument off
    raise unreadable(
        name,
        f"byte {position} holds pickle opcode 0x{opcode:02x}, and snapshots hold plain data only",
        "do not unpickle this file: it may run code",
    )


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
