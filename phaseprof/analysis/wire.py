"""The wire format of protocol buffers, read without a schema: what trackers write can be read without their packages.

Source: the encoding as published with protocol buffers; fields that nobody asks for are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


def read_fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield number, wire type and value of each field of a message.

    Numbers come as unsigned ones, fixed ones as their bytes.

    Raises:
        ValueError: it is no message.

    >>> list(read_fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 0, 150), (2, 2, b'hi')]
    """
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value: int | bytes
            value, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, at = message[at : at + size], at + size
        elif kind == _BYTES:
            size, at = _varint(message, at)
            value, at = message[at : at + size], at + size
        else:
            raise ValueError(f"wire type {kind} is not known")
        if at > end or not number:
            raise ValueError("a field ends beyond its message")
        yield number, kind, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(_LONGEST_VARINT):
        if at >= len(message):
            raise ValueError("a number ends beyond its message")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise ValueError("a number has no end")


def signed(value: int) -> int:
    """Read an unsigned number as the signed one that was written."""
    return value - (1 << 64) if value >= 1 << 63 else value


def as_double(value: bytes) -> float:
    """Read eight bytes as a number."""
    return float(struct.unpack("<d", value)[0])


def as_float(value: bytes) -> float:
    """Read four bytes as a number."""
    return float(struct.unpack("<f", value)[0])
