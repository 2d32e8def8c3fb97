"""What the walk by place does with objects of each type, decided once for a type and without a stranger's code."""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from phaseprof.interrupts import raise_the_programs
from phaseprof.native.layout import holds_attributes, is_understood
from phaseprof.probes.typeinfo import c_sizeof, header_bytes, is_collected, mro, namespace, type_name

MASK = (1 << 64) - 1
_FNV_START, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
_MULTIPLY, _PARENT, _POSITION = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
# Packages whose ``__sizeof__`` may be asked in the middle of a walk: it makes a number and runs no other code.
TRUSTED = (*sorted(sys.stdlib_module_names), "numpy")
# Strings and bytes shorter than this are added to what holds them.
SHORT = 256


class Treatment(IntEnum):
    """How objects of a type are placed and followed."""

    NOTHING = 0  # the interpreter's single objects: neither placed nor counted
    SMALL = 1  # numbers and code: added to the parent's bytes
    TEXT = 2  # added to the parent's bytes while short
    MODULE = 3
    CLASS = 4
    DICT = 5
    MANY = 6  # all items are at one position
    ARRAY = 7
    PLAIN = 8


class Kind(NamedTuple):
    """One exact type.

    Attributes:
        name: its qualified name.
        hash: a number made of the name.
        treatment: how its objects are placed and followed.
        is_merged: classes, functions and other descriptors, of which a namespace holds hundreds: all are at one
            position.
        is_container: a chain of them is one place only when it has gone on for a while; a class that another has in a
            registry is no link of a chain either.
        has_attributes: instances have a dict, or room for one.
        is_followed: the collector can be asked what they refer to.
        is_measured: another probe says what memory stands behind them.
        sizeof: own bytes without what lies before the object.
        header: bytes that lie before the object.
    """

    name: str
    hash: int
    treatment: Treatment
    is_merged: bool
    is_container: bool
    has_attributes: bool
    is_followed: bool
    is_measured: bool
    sizeof: Callable[[object], int]
    header: int

    def own_bytes(self, obj: object) -> int:
        """Return what an object takes without what it refers to, its header included."""
        try:
            return self.sizeof(obj) + self.header
        except Exception as error:  # noqa: BLE001 - a broken object is counted for its header, and the walk goes on
            raise_the_programs(error)
            return self.header


_NOTHING = (type(None), bool, type(Ellipsis), type(NotImplemented))
_SMALL = (int, float, complex, types.CodeType)
_TEXT = (str, bytes)
_MANY = (list, tuple, set, frozenset, deque)
_CONTAINERS = (*_MANY, dict, OrderedDict, defaultdict)


def text_hash(text: str) -> int:
    """Return a 64-bit number made of a text's code points (FNV-1a), the same in every process."""
    value = _FNV_START
    for character in text:
        value = (value ^ ord(character)) * _FNV_PRIME & MASK
    return value


def mixed(value: int) -> int:
    """Spread a number's bits over 64."""
    value &= MASK
    value = (value ^ value >> 29) * _MULTIPLY & MASK
    return value ^ value >> 32


def child_place(parent: int, position: int, type_hash: int) -> int:
    """Return the place of what lies at a position of a place."""
    return mixed(parent * _PARENT + position * _POSITION + type_hash)


class Kinds:
    """The kinds of all types met in one walk, by the id of the type: a walk must not be what holds a class."""

    def __init__(self, *, measured: tuple[type, ...] = (), enters_classes: bool = True) -> None:
        numpy = sys.modules.get("numpy")
        self._array = getattr(numpy, "ndarray", None)
        self._measured = frozenset(map(id, measured))
        self._enters_classes = enters_classes
        self._reads_attributes = is_understood()
        self._kinds: dict[int, Kind] = {}

    def of(self, cls: type) -> Kind:
        """Return the kind of an exact type."""
        kind = self._kinds.get(id(cls))
        if kind is None:
            kind = self._kinds[id(cls)] = self._make(cls)
        return kind

    def _make(self, cls: type) -> Kind:
        name = type_name(cls)
        bases = mro(cls)
        treatment = self._treat(cls, bases)
        return Kind(
            name=name,
            hash=text_hash(name),
            treatment=treatment,
            is_merged=treatment is Treatment.CLASS or _is_descriptor(cls, bases),
            is_container=treatment is Treatment.CLASS or _is_any(cls, _CONTAINERS),
            has_attributes=treatment not in (Treatment.MODULE, Treatment.CLASS)
            and holds_attributes(cls)
            and self._reads_attributes,
            is_followed=is_collected(cls),
            is_measured=any(id(base) in self._measured for base in bases),
            sizeof=_trusted_sizeof(cls),
            header=header_bytes(cls),
        )

    def _treat(self, cls: type, bases: tuple[type, ...]) -> Treatment:
        exact = ((Treatment.NOTHING, _NOTHING), (Treatment.SMALL, _SMALL), (Treatment.TEXT, _TEXT))
        for treatment, alike in exact:
            if _is_any(cls, alike):
                return treatment
        families: tuple[tuple[Treatment, tuple[type, ...]], ...] = (
            (Treatment.MODULE, (types.ModuleType,)),
            (Treatment.CLASS, (type,)),
            (Treatment.DICT, (dict,)),
            (Treatment.MANY, _MANY),
            (Treatment.ARRAY, () if self._array is None else (self._array,)),
        )
        found = next((t for t, family in families if any(_is_any(base, family) for base in bases)), Treatment.PLAIN)
        is_apart = found in (Treatment.MODULE, Treatment.CLASS) and not self._enters_classes
        return Treatment.NOTHING if is_apart else found


def _trusted_sizeof(cls: type) -> Callable[[object], int]:
    """Return the nearest ``__sizeof__`` in C of the interpreter or a package known to make a number only."""
    method = c_sizeof(cls)
    owner = getattr(method, "__objclass__", object)
    is_known = type_name(owner).partition(".")[0] in TRUSTED or "." not in type_name(owner)
    return method if type(method) is types.MethodDescriptorType and is_known else object.__sizeof__


def _is_descriptor(cls: type, bases: tuple[type, ...]) -> bool:
    return cls is types.BuiltinFunctionType or any("__get__" in namespace(base) for base in bases)


def _is_any(cls: type, candidates: tuple[type, ...]) -> bool:
    """Compare by identity: ``in`` would ask a stranger's metaclass for ``==``."""
    return any(cls is candidate for candidate in candidates)
