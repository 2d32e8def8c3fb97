"""Where a running process has a function of a library: read from the library's file and the process's mappings."""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

_DYNAMIC_SYMBOLS, _LOADED = 11, 1
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")


@dataclass(frozen=True)
class Mapping:
    """The first mapping of a file into a process.

    Attributes:
        start: its first address.
        offset: which byte of the file that is.
        path: the file, as the process named it.
    """

    start: int
    offset: int
    path: str


def mapped_files(maps: str) -> list[Mapping]:
    """Return each file that is mapped, once, from the text of ``/proc/PID/maps``."""
    found: dict[str, Mapping] = {}
    for line in maps.splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[5].startswith("/"):
            found.setdefault(parts[5], Mapping(int(parts[0].partition("-")[0], 16), int(parts[2], 16), parts[5]))
    return list(found.values())


def addresses_in(mapping: Mapping, names: Collection[str]) -> dict[str, int]:
    """Return where a process has those functions of a mapped file that the file exports.

    Raises:
        ValueError: the file is none of a 64-bit Linux.
        OSError: it cannot be read.
    Cost: 20 ms for libpython.
    """
    data = Path(mapping.path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{mapping.path} is no 64-bit ELF file")
    shift = mapping.start - _first_address(data, mapping.offset)
    return {name: value + shift for name, value in _exported(data, names).items()}


def _first_address(data: bytes, offset: int) -> int:
    """The address that the file itself gives a byte, by its segments."""
    (at,) = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    for n in range(count):
        kind, _, begins, address, _, n_bytes, _, _ = _SEGMENT.unpack_from(data, at + n * size)
        if kind == _LOADED and begins <= offset < begins + n_bytes:
            return int(address + offset - begins)
    return 0


def _exported(data: bytes, names: Collection[str]) -> dict[str, int]:
    (at,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [_SECTION.unpack_from(data, at + n * size) for n in range(count)]
    found = {}
    for section in sections:
        if section[1] != _DYNAMIC_SYMBOLS:
            continue
        texts = sections[section[6]][4]
        for begins in range(section[4], section[4] + section[5], _SYMBOL.size):
            name_at, _, _, home, value, _ = _SYMBOL.unpack_from(data, begins)
            if home:
                name = data[texts + name_at : data.index(b"\0", texts + name_at)].decode("ascii", "replace")
                if name in names:
                    found[name] = int(value)
    return found
