"""Where the interpreter keeps an object's attributes, read without making the dict that asking for it would make.

From Python 3.11 on an instance keeps its attributes in a row of values, whose names stand with its class, until
somebody asks for ``__dict__``.  Nothing in Python shows that row without making the dict; it is read from memory.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
from functools import cache
from typing import NamedTuple, cast

from phaseprof.probes.typeinfo import has_managed_dict

_WORD = 8
# Include/cpython/object.h, internal/pycore_object.h: what lies before an instance, in words.
_DICT_BEFORE, _VALUES_BEFORE = 3, 4
_INLINE_VALUES = 1 << 2  # Py_TPFLAGS_INLINE_VALUES, 3.13 and later
# internal/pycore_dict.h, struct _dictkeysobject
_KEYS_LOG2_INDEX_BYTES, _KEYS_USABLE, _KEYS_ENTRIES, _KEYS_INDICES = 9, 16, 24, 32
_ENTRY_WORDS = 2

_flags_of = type.__dict__["__flags__"].__get__
_dictoffset_of = type.__dict__["__dictoffset__"].__get__
_class_bytes = type.__dict__["__basicsize__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__


class Attributes(NamedTuple):
    """How an instance holds its attributes.

    Attributes:
        namespace: its dict, where it has one.
        names: names of the values that it holds without one, in order.
        value_ids: ids of the values in a row of its own; from 3.13 on that row may stand beside a dict made of it.
        bytes: memory of the row of values.
    """

    namespace: dict[object, object] | None
    names: tuple[str, ...] = ()
    value_ids: tuple[int, ...] = ()
    bytes: int = 0


NO_ATTRIBUTES = Attributes(None)


def word(address: int) -> int:
    """Return the pointer at an address."""
    return ctypes.c_void_p.from_address(address).value or 0


def holds_attributes(cls: type) -> bool:
    """Say whether instances have a dict, or room for one."""
    return has_managed_dict(cls) or bool(_dictoffset_of(cls))


def attributes(obj: object, cls: type, referents: list[object]) -> Attributes:
    """Return where an instance's attributes are; makes no dict.

    Args:
        obj: the instance.
        cls: its exact type, for which ``holds_attributes`` is true.
        referents: what ``gc.get_referents`` says of it.

    Cost: some microseconds.
    """
    values, at = _value_row(obj, cls)
    row = _from_row(cls, values) if values else NO_ATTRIBUTES
    address = word(at) if at else 0
    if not address:
        return row
    found = next((r for r in referents if id(r) == address), None)
    if found is None:  # types that hide their dict from the collector
        found = ctypes.cast(address, ctypes.py_object).value
    if not issubclass(type(found), dict):
        return row
    return Attributes(cast("dict[object, object]", found), value_ids=row.value_ids)  # its size includes the row


def _value_row(obj: object, cls: type) -> tuple[int, int]:
    """Return the address of the row of values, 0 if there is none, and the address of the pointer to the dict."""
    if not has_managed_dict(cls):
        return 0, _address_of_dict(obj, cls)
    at = id(obj) - _DICT_BEFORE * _WORD
    if sys.version_info >= (3, 13):
        inline = id(obj) + object.__basicsize__
        is_valid = bool(_flags_of(cls) & _INLINE_VALUES) and ctypes.c_uint8.from_address(inline + 3).value
        return (inline if is_valid else 0), at
    if sys.version_info >= (3, 12):
        either = word(at)
        return (either + 1, 0) if either & 1 else (0, at)
    return word(id(obj) - _VALUES_BEFORE * _WORD), at


def _address_of_dict(obj: object, cls: type) -> int:
    offset = int(_dictoffset_of(cls))
    if offset < 0:  # counted from the end of an object of varying length
        length = abs(ctypes.c_ssize_t.from_address(id(obj) + 2 * _WORD).value)
        size = cls.__basicsize__ + length * cls.__itemsize__
        offset += (size + _WORD - 1) // _WORD * _WORD
    return id(obj) + offset


def _from_row(cls: type, values: int) -> Attributes:
    keys = word(id(cls) + _CACHED_KEYS)
    n_entries = ctypes.c_ssize_t.from_address(keys + _KEYS_ENTRIES).value
    room = ctypes.c_ssize_t.from_address(keys + _KEYS_USABLE).value + n_entries
    first = keys + _KEYS_INDICES + (1 << ctypes.c_uint8.from_address(keys + _KEYS_LOG2_INDEX_BYTES).value)
    row = values + _WORD if sys.version_info >= (3, 13) else values
    # By its bytes: for each length, an array of ctypes is a class of its own, which waits for the collector.
    ids = struct.unpack(f"{n_entries}P", ctypes.string_at(row, n_entries * _WORD))
    named = [(first + i * _ENTRY_WORDS * _WORD, value) for i, value in enumerate(ids) if value]
    names = tuple(str(ctypes.py_object.from_address(at).value) for at, _ in named)
    return Attributes(None, names, tuple(value for _, value in named), _row_bytes(values, room))


def _row_bytes(values: int, room: int) -> int:
    """Return what the row takes: a byte and a word for each attribute there is room for."""
    if sys.version_info >= (3, 13):
        return (room + 7) // 8 * 8 + (room + 1) * _WORD
    prefix = ctypes.c_uint8.from_address(values - 1).value
    return prefix + _WORD * max(room, prefix - 9)


def _find_cached_keys() -> int:
    """Return where a class keeps the names of its instances' attributes: after its qualified name, which is known."""
    if sys.version_info < (3, 11):
        return 0

    class Probe:
        pass

    name = id(_qualname_of(Probe))
    words = [word(id(Probe) + at) for at in range(0, _class_bytes(type), _WORD)]
    return (len(words) - 1 - words[::-1].index(name) + 1) * _WORD


_CACHED_KEYS = _find_cached_keys()


@cache
def is_understood() -> bool:
    """Say whether this interpreter lays objects out as expected, by trying it on one."""
    if sys.version_info < (3, 11):
        return True

    class Probe:
        def __init__(self) -> None:
            self.first = [1]
            self.second = {2}

    probe = Probe()
    referents = gc.get_referents(probe)
    found = attributes(probe, Probe, referents)
    expected = [id(r) for r in referents if type(r) is list or type(r) is set]
    return found.names == ("first", "second") and list(found.value_ids) == expected
