"""Records of TensorBoard event files: framed bytes with checksums, and the scalars of the events in them.

Source: the record format of TensorFlow (length, masked CRC-32C of it, bytes, masked CRC-32C of them), and the fields of
``event.proto``, ``summary.proto`` and ``tensor.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase

from phaseprof.analysis.wire import as_double, as_float, read_fields, signed

# Events with more bytes hold images, graphs or histograms; they are passed over unread.
_LARGEST_SCALARS = 1 << 16
_MOST_BYTES = 1 << 31
_POLYNOMIAL = 0x82F63B78
# DataType of one-element tensors to how their content is read; bfloat16, complex and strings are no figures.
_CONTENT = {1: "<f", 2: "<d", 3: "<i", 4: "<B", 5: "<h", 6: "<b", 9: "<q", 17: "<H", 19: "<e", 22: "<I", 23: "<Q"}
_HALF, _HALF_VAL = 19, 13
_TYPED = {5: "<f", 6: "<d"}  # fields float_val and double_val; the others are numbers


@dataclass(frozen=True)
class Scalar:
    """One value of one event."""

    tag: str
    step: int
    value: float
    wall_time_s: float


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)  # noqa: PLW2901  # the register of the checksum
        table.append(byte)
    return table


_TABLE = _table()


def masked_checksum(content: bytes) -> int:
    """Return the masked CRC-32C that stands behind a length or a record.

    >>> hex(masked_checksum(b"123456789"))
    '0xc78ab0e5'
    """
    register = 0xFFFFFFFF
    for byte in content:
        register = (register >> 8) ^ _TABLE[(register ^ byte) & 0xFF]
    register ^= 0xFFFFFFFF
    return ((register >> 15 | register << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_records(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the events that may hold scalars, up to the end or the first damaged record, as a log in writing needs it.

    An event that is too large for scalars is yielded as empty bytes.

    Raises:
        OSError: reading stopped.
    """
    while len(head := stream.read(12)) == 12:
        length, checksum = struct.unpack("<QI", head)
        if masked_checksum(head[:8]) != checksum or length > _MOST_BYTES:
            return
        if length > _LARGEST_SCALARS:
            skipped = stream.seek(length + 4, 1) if stream.seekable() else len(stream.read(length + 4))
            yield b""
            if not skipped:
                return
            continue
        content = stream.read(length + 4)
        if len(content) < length + 4:
            return
        if masked_checksum(content[:-4]) != int.from_bytes(content[-4:], "little"):
            return
        yield content[:-4]


def read_event(event: bytes) -> Iterator[Scalar]:
    """Yield the scalars of an event.

    Raises:
        ValueError: it is no event.
    """
    wall_time_s, step, summaries = 0.0, 0, []
    for number, kind, value in read_fields(event):
        if number == 1 and kind == 1 and isinstance(value, bytes):
            wall_time_s = as_double(value)
        elif number == 2 and isinstance(value, int):
            step = signed(value)
        elif number == 5 and kind == 2 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, kind, value in read_fields(summary):
            if number == 1 and kind == 2 and isinstance(value, bytes):
                found = _scalar(value)
                if found is not None:
                    yield Scalar(found[0], step, found[1], wall_time_s)


def _scalar(summary: bytes) -> tuple[str, float] | None:
    tag, figure = "", None
    for number, kind, value in read_fields(summary):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode("utf-8")
        elif number == 2 and kind == 5:
            figure = as_float(value)
        elif number == 8 and kind == 2:
            figure = _only_element(value)
    return None if figure is None else (tag, figure)


def _only_element(tensor: bytes) -> float | None:
    """Return the element of a tensor that has one; ``None`` for any other."""
    data_type, elements = 0, []
    for number, kind, value in read_fields(tensor):
        if number == 1 and isinstance(value, int):
            data_type = value
        elif number == 2 and isinstance(value, bytes):
            if _n_elements(value) != 1:
                return None
        elif number == 4 and isinstance(value, bytes):
            layout = _CONTENT.get(data_type)
            if layout is None or struct.calcsize(layout) != len(value):
                return None
            elements.append(float(struct.unpack(layout, value)[0]))
        elif number in _TYPED and isinstance(value, bytes):  # packed, or one by one
            width = struct.calcsize(_TYPED[number])
            elements += [
                float(struct.unpack(_TYPED[number], value[i : i + width])[0]) for i in range(0, len(value), width)
            ]
        elif number == _HALF_VAL and data_type == _HALF:
            bits = [one & 0xFFFF for one in _numbers(value, is_packed=kind == 2)]
            elements += [float(struct.unpack("<e", struct.pack("<H", one))[0]) for one in bits]
        elif number in (7, 10, 11):
            elements += [float(signed(one)) for one in _numbers(value, is_packed=kind == 2)]
    return elements[0] if len(elements) == 1 and data_type in _CONTENT | {10: ""} else None


def _numbers(value: int | bytes, *, is_packed: bool) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif is_packed:
        for number, _, inner in read_fields(b"".join(b"\x08" + part for part in _varints(value))):
            if number == 1 and isinstance(inner, int):
                yield inner


def _varints(packed: bytes) -> Iterator[bytes]:
    begin = 0
    for at, byte in enumerate(packed):
        if byte < 0x80:
            yield packed[begin : at + 1]
            begin = at + 1


def _n_elements(shape: bytes) -> int:
    """Return the product of the dimensions of a shape."""
    n = 1
    for number, _, dimension in read_fields(shape):
        if number == 2 and isinstance(dimension, bytes):
            sizes = [signed(size) for at, _, size in read_fields(dimension) if at == 1 and isinstance(size, int)]
            n *= sizes[0] if sizes else 0
    return n
