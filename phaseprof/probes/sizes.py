"""Deep size of an object: every byte that it reaches, once, without running a stranger's code."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
import types
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import TYPE_CHECKING, NamedTuple, cast

from phaseprof.probes import tensors, walk
from phaseprof.probes.arrays import BufferLocator
from phaseprof.probes.own import is_own_type
from phaseprof.probes.typeinfo import (
    c_sizeof,
    has_managed_dict,
    header_bytes,
    is_collected,
    mro,
    type_name,
    with_subclasses,
)

if TYPE_CHECKING:
    import torch

__all__ = ["DeepSizes", "NamedSize", "SizeReading", "deep_size", "deep_sizes"]

_TOP_TYPES = 8
# Between two looks at the clock: some 5 ms of work.
_CHUNK = 8192
# Up to this many types in a chunk, one C pass for each is cheaper than a Python loop.
_FEW_TYPES = 3

# Shared with the rest of the program: what refers to one of these does not own it. A logger leads to every handler,
# a thread to the stack it runs; the interpreter's singletons cost nobody anything.
_NOT_OWNED: tuple[type, ...] = (
    type, types.ModuleType, types.CodeType, types.FrameType, types.TracebackType,
    types.BuiltinFunctionType, types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    type(None), bool, type(Ellipsis), type(NotImplemented),
    threading.Thread, threading.local, logging.Logger, logging.Handler, logging.Manager, logging.LoggerAdapter,
)  # fmt: skip
# Their ``__sizeof__`` includes the memory they lend to views.
_SIZED_EXPORTERS: tuple[type, ...] = (bytes, bytearray, array)


@dataclass(frozen=True)
class SizeReading:
    """Deep size of one object.

    Attributes:
        bytes: all that it reaches, each byte once.
        n_objects: how many objects that is; a storage or foreign buffer counts as one.
        truncated: a limit was met before everything had been seen; the size is then a lower bound.
        by_type: type name -> bytes of the types that take most, largest first.
    """

    bytes: int
    n_objects: int
    truncated: bool = False
    by_type: Mapping[str, int] = field(default_factory=dict)


class NamedSize(NamedTuple):
    """Deep size of one of several named objects.

    Attributes:
        bytes: all that the name reaches.
        shared_bytes: the part of it that another of the names reaches too.
        n_objects: how many objects that is.
        truncated: a limit was met; the size is a lower bound.
    """

    bytes: int
    shared_bytes: int
    n_objects: int
    truncated: bool


@dataclass(frozen=True)
class DeepSizes:
    """Deep sizes of several named objects.

    Attributes:
        names: name -> its size and what of it is shared with the others.
        total_bytes: what all of them reach together, each byte once.
    """

    names: Mapping[str, NamedSize]
    total_bytes: int


def deep_size(
    obj: object,
    *,
    exclude: Iterable[object] = (),
    deadline_s: float | None = None,
    max_objects: int | None = None,
) -> SizeReading:
    """Add up the memory that an object reaches.

    Followed: attributes (dicts, slots), containers, closures and defaults of functions, bound methods' objects, numpy
    buffers through views and into object arrays, torch storages (each once, gradients, sparse and quantized parts).
    Not followed: modules, classes, functions' globals, code, frames, threads, loggers, weak references, and what only
    C++ holds, such as an autograd graph. Strings and numbers count where they are met first.

    Args:
        obj: where to start.
        exclude: objects to leave out with what only they reach.
        deadline_s: stop after this many seconds, with a lower bound.
        max_objects: stop after this many objects, with a lower bound.

    Cost: about 0.3 µs an object, 1.5 µs a tensor. No ``__sizeof__`` or attribute written in Python runs, and no
    instance dict is made.
    """
    walker = _SizeWalk(exclude, deadline_s=deadline_s, max_objects=max_objects)
    walker.run(obj)
    top = sorted(walker.by_type.items(), key=lambda item: -item[1])[:_TOP_TYPES]
    return SizeReading(walker.total, walker.n_objects, walker.truncated, dict(top))


def deep_sizes(
    named: Mapping[str, object], *, deadline_s: float | None = None, max_objects: int | None = None
) -> DeepSizes:
    """Measure several objects, telling what they share.

    Args:
        named: name -> object.
        deadline_s: for all names together.
        max_objects: for each name.

    Cost: that of ``deep_size`` for each name, and 100 bytes an object while it runs.
    """
    end = None if deadline_s is None else time.perf_counter() + deadline_s
    walks: dict[str, _SizeWalk] = {}
    for name, obj in named.items():
        left = None if end is None else max(0.0, end - time.perf_counter())
        walks[name] = _SizeWalk((), deadline_s=left, max_objects=max_objects, keep_sizes=True)
        walks[name].run(obj)
    together: dict[int, int] = {}
    shared: set[int] = set()
    for walker in walks.values():
        shared |= together.keys() & walker.sizes.keys()
        together.update(walker.sizes)
    names = {
        name: NamedSize(w.total, sum(w.sizes[key] for key in shared & w.sizes.keys()), w.n_objects, w.truncated)
        for name, w in walks.items()
    }
    return DeepSizes(names, sum(together.values()))


class _Plan(NamedTuple):
    """How objects of one exact type are measured."""

    name: str
    sizeof: Callable[[object], int]
    extra_bytes: int
    kind: str
    follows: bool
    has_managed_dict: bool


class _SizeWalk:
    """One breadth-first walk; every level is measured type by type in C loops."""

    def __init__(
        self,
        exclude: Iterable[object],
        *,
        deadline_s: float | None,
        max_objects: int | None,
        keep_sizes: bool = False,
    ) -> None:
        self.total = self.n_objects = 0
        self.truncated = False
        self.by_type: dict[str, int] = {}
        self.sizes: dict[int, int] = {}
        self._keep_sizes = keep_sizes
        # Seen objects are held until the walk ends, so that no id is used again meanwhile.
        self._seen: dict[int, object] = {id(obj): obj for obj in exclude}
        self._seen_memory: set[int] = set()
        self._end = None if deadline_s is None else time.perf_counter() + deadline_s
        self._max_objects = max_objects
        self._plans = _Planner()
        self._locate = BufferLocator() if walk.array_types() else None

    def run(self, obj: object) -> None:
        level = self._fresh([obj])
        try:
            while level:
                following: list[object] = []
                for start in range(0, len(level), _CHUNK):
                    if self._spent():
                        return
                    following += self._measure(level[start : start + _CHUNK])
                level = self._fresh(following)
        finally:
            level.clear()
            self._seen.clear()

    def _spent(self) -> bool:
        self.truncated = (self._end is not None and time.perf_counter() > self._end) or (
            self._max_objects is not None and self.n_objects >= self._max_objects
        )
        return self.truncated

    def _fresh(self, candidates: list[object]) -> list[object]:
        """Return the candidates not seen before, in order: neighbours in memory stay neighbours in cache."""
        before = len(self._seen)
        self._seen.update(zip(map(id, candidates), candidates, strict=True))
        latest = list(islice(reversed(self._seen.values()), len(self._seen) - before))
        latest.reverse()
        return latest

    def _measure(self, objects: list[object]) -> list[object]:
        """Add the objects' sizes and return what they refer to."""
        following: list[object] = []
        for bucket in _by_type(objects):
            plan = self._plans.of(type(bucket[0]))
            if plan is not None:
                following += self._measure_bucket(plan, bucket)
        return following

    def _measure_bucket(self, plan: _Plan, bucket: list[object]) -> list[object]:
        if plan.kind == "function":
            # A function of a module or class belongs there; one made at run time to whoever holds it.
            bucket = [f for f in bucket if str.__contains__(_qualname_of_function(f), "<locals>")]
        referents = gc.get_referents(*bucket) if plan.follows else []
        sizes = list(map(plan.sizeof, bucket))
        extra = plan.extra_bytes
        if plan.has_managed_dict and bucket:
            extra += _managed_values_bytes(len(referents) / len(bucket) - 1)
        self._add(plan.name, sum(sizes) + extra * len(bucket), len(bucket))
        if self._keep_sizes:
            self.sizes.update(zip(map(id, bucket), map(extra.__add__, sizes), strict=True))
        return self._expand(plan.kind, bucket, referents)

    def _add(self, name: str, size_bytes: int, count: int) -> None:
        self.total += size_bytes
        self.n_objects += count
        self.by_type[name] = self.by_type.get(name, 0) + size_bytes

    def _expand(self, kind: str, bucket: list[object], referents: list[object]) -> list[object]:
        """Add memory that the collector does not see behind special types, and return all that is to be followed."""
        if kind == "function":
            apart = {id(part) for f in bucket for part in (_globals_of_function(f), _builtins_of_function(f))}
            return [r for r in referents if id(r) not in apart]
        if kind == "array":
            referents += self._behind_arrays(bucket)
        elif kind == "dict":
            # The collector is shown no keys where all are strings.
            referents += walk.dict_keys(bucket)
        elif kind == "tensor":
            for address, (size, device) in tensors.storages_of(cast("list[torch.Tensor]", bucket)).items():
                self._add_memory(address, size, f"storage ({device})")
        elif kind == "storage":
            for storage in cast("list[torch.UntypedStorage]", bucket):
                self._add_memory(storage._cdata, _storage_bytes(storage), f"storage ({storage.device})")
        return referents

    def _add_memory(self, address: int, size_bytes: int, name: str) -> None:
        """Add memory that is no Python object, once; its key is negative, where no id can be."""
        if address not in self._seen_memory:
            self._seen_memory.add(address)
            self._add(name, size_bytes, 1)
            if self._keep_sizes:
                self.sizes[-address] = size_bytes

    def _behind_arrays(self, arrays: list[object]) -> list[object]:
        assert self._locate is not None
        behind = walk.array_items(arrays)
        for array_ in arrays:
            last, exporter = self._locate.last_array(array_)
            if exporter is None:
                behind.append(last)
                continue
            behind.append(exporter)
            buffer = self._locate(last)
            if buffer is not None and not buffer.is_array and not self._plans.measures_itself(exporter):
                self._add_memory(buffer.owner_id, buffer.size_bytes, "foreign buffer")
        return behind


class _Planner:
    """Decide once for each type how its objects are measured."""

    def __init__(self) -> None:
        self._plans: dict[int, _Plan | None] = {}
        self._not_owned = frozenset(map(id, _NOT_OWNED))
        self._atoms = frozenset(map(id, _SIZED_EXPORTERS))
        self._arrays = frozenset(map(id, walk.array_types()))
        self._tensors = frozenset(map(id, tensors.tensor_types()))
        torch = tensors.loaded_torch()
        self._storages = frozenset(map(id, with_subclasses([torch._C.StorageBase]))) if torch else frozenset()

    def of(self, cls: type) -> _Plan | None:
        """Return the plan for an exact type; ``None`` where objects of it belong to nobody in particular."""
        key = id(cls)
        if key not in self._plans:
            self._plans[key] = self._make(cls)
        return self._plans[key]

    def measures_itself(self, exporter: object) -> bool:
        """Say whether the exporter's own size, or its plan, includes the memory it exports."""
        while type(exporter) is memoryview:
            exporter = exporter.obj
        key = id(type(exporter))
        return any(key in family for family in (self._atoms, self._arrays, self._tensors, self._storages))

    def _make(self, cls: type) -> _Plan | None:
        bases = frozenset(map(id, mro(cls)))  # ids: comparing classes may run their metaclass's code
        if not self._not_owned.isdisjoint(bases) or is_own_type(cls):
            return None
        return _Plan(
            name=type_name(cls),
            sizeof=c_sizeof(cls),
            extra_bytes=header_bytes(cls),
            kind="dict" if id(dict) in bases else self._kind(cls),
            follows=is_collected(cls) and id(weakref.ReferenceType) not in bases,
            has_managed_dict=has_managed_dict(cls),
        )

    def _kind(self, cls: type) -> str:
        key = id(cls)
        for kind, family in (("array", self._arrays), ("tensor", self._tensors), ("storage", self._storages)):
            if key in family:
                return kind
        return "function" if cls is types.FunctionType else ""


def _by_type(objects: list[object]) -> list[list[object]]:
    """Split objects by exact type; no metaclass code runs."""
    type_ids = list(map(id, map(type, objects)))
    kinds = dict.fromkeys(type_ids)
    if len(kinds) <= _FEW_TYPES:
        return [list(compress(objects, map(kind.__eq__, type_ids))) for kind in kinds]
    buckets: defaultdict[int, list[object]] = defaultdict(list)
    for key, obj in zip(type_ids, objects, strict=True):
        buckets[key].append(obj)
    return list(buckets.values())


def _managed_values_bytes(n_attributes: float) -> int:
    """Estimate the array that holds an instance's attributes where it has no dict: a byte and a slot for each.

    Its exact capacity is not to be seen from Python; a class's later instances get what its first ones used.
    """
    n = max(0, round(n_attributes))
    return 8 * n + (n + 9) // 8 * 8


_qualname_of_function = cast("Callable[[object], str]", types.FunctionType.__dict__["__qualname__"].__get__)
_globals_of_function = cast("Callable[[object], object]", types.FunctionType.__dict__["__globals__"].__get__)
_builtins_of_function = cast("Callable[[object], object]", types.FunctionType.__dict__["__builtins__"].__get__)


def _storage_bytes(storage: torch.UntypedStorage) -> int:
    torch = sys.modules["torch"]
    return int(torch._C.StorageBase.nbytes(storage))
