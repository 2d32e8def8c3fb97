"""How objects of each type are measured by the deep size: what counts, what is followed, what belongs to nobody."""

from __future__ import annotations

import logging
import threading
import types
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable
from itertools import compress, repeat
from operator import eq, is_
from typing import NamedTuple

from phaseprof.probes import tensors, walk
from phaseprof.probes.arrays import BufferLocator
from phaseprof.probes.own import is_own_type
from phaseprof.probes.typeinfo import (
    c_sizeof,
    fixed_bytes,
    has_managed_dict,
    header_bytes,
    is_collected,
    mro,
    types_hash_plainly,
    with_subclasses,
)

# Up to this many types in a chunk, one C pass for each is cheaper than a Python loop.
_FEW_TYPES = 3

# Shared with the rest of the program: what refers to one of these does not own it. A logger leads to every handler,
# a thread to the stack it runs; the interpreter's singletons cost nobody anything.
NOT_OWNED: tuple[type, ...] = (
    type, types.ModuleType, types.CodeType, types.FrameType, types.TracebackType,
    types.BuiltinFunctionType, types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    type(None), bool, type(Ellipsis), type(NotImplemented),
    threading.Thread, threading.local, logging.Logger, logging.Handler, logging.Manager, logging.LoggerAdapter,
)  # fmt: skip
# Their ``__sizeof__`` includes the memory they lend to views.
_SIZED_EXPORTERS: tuple[type, ...] = (bytes, bytearray, array)


class Plan(NamedTuple):
    """How objects of one exact type are measured."""

    sizeof: Callable[[object], int] | None
    fixed_bytes: int
    kind: str
    follows: bool
    has_managed_dict: bool


class Planner:
    """Decide once for each type how its objects are measured."""

    def __init__(self) -> None:
        self._plans: dict[int, Plan | None] = {}
        self._locator: BufferLocator | None = None
        self._hash_plainly = types_hash_plainly()
        self._not_owned = frozenset(map(id, NOT_OWNED))
        self._atoms = frozenset(map(id, _SIZED_EXPORTERS))
        self._arrays = frozenset(map(id, walk.array_types()))
        self._tensors = frozenset(map(id, tensors.tensor_types()))
        torch = tensors.loaded_torch()
        self._storages = frozenset(map(id, with_subclasses([torch._C.StorageBase]))) if torch else frozenset()

    def locator(self) -> BufferLocator:
        """Return what finds the owner of an array's memory; numpy must be loaded."""
        if self._locator is None:
            self._locator = BufferLocator()
        return self._locator

    def of(self, cls: type) -> Plan | None:
        """Return the plan for an exact type; ``None`` where objects of it belong to nobody in particular."""
        key = id(cls)
        if key not in self._plans:
            self._plans[key] = self._make(cls)
        return self._plans[key]

    def by_type(self, objects: list[object]) -> list[list[object]]:
        """Split objects by exact type."""
        types_of: list[object] = list(map(type, objects))
        if not self._hash_plainly:
            types_of = list(map(id, types_of))
        kinds = set(types_of)
        if len(kinds) == 1:
            return [objects]
        if len(kinds) <= _FEW_TYPES:
            same = is_ if self._hash_plainly else eq  # equal ids are different objects
            return [list(compress(objects, map(same, types_of, repeat(kind)))) for kind in kinds]
        buckets: defaultdict[object, list[object]] = defaultdict(list)
        for key, obj in zip(types_of, objects, strict=True):
            buckets[key].append(obj)
        return list(buckets.values())

    def measures_itself(self, exporter: object) -> bool:
        """Say whether the exporter's own size, or its plan, includes the memory it exports."""
        while type(exporter) is memoryview:
            exporter = exporter.obj
        key = id(type(exporter))
        return any(key in family for family in (self._atoms, self._arrays, self._tensors, self._storages))

    def _make(self, cls: type) -> Plan | None:
        bases = frozenset(map(id, mro(cls)))  # ids: comparing classes may run their metaclass's code
        if not self._not_owned.isdisjoint(bases) or is_own_type(cls):
            return None
        sizeof = c_sizeof(cls)
        fixed = fixed_bytes(cls) if sizeof is object.__sizeof__ else 0
        return Plan(
            sizeof=None if fixed else sizeof,
            fixed_bytes=header_bytes(cls) + fixed,
            kind=self._kind(cls, is_dict=id(dict) in bases),
            follows=is_collected(cls) and id(weakref.ReferenceType) not in bases,
            has_managed_dict=has_managed_dict(cls),
        )

    def _kind(self, cls: type, *, is_dict: bool) -> str:
        if is_dict:
            return "plain dict" if cls is dict else "dict"
        key = id(cls)
        for kind, family in (("array", self._arrays), ("tensor", self._tensors), ("storage", self._storages)):
            if key in family:
                return kind
        return "function" if cls is types.FunctionType else ""
