"""Live numpy arrays, and who owns the memory that they look at.

numpy arrays are not known to the collector: they are reached through the containers that hold them.
"""

from __future__ import annotations

import gc
import mmap
import sys
from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from phaseprof.native import looking
from phaseprof.probes import own, walk
from phaseprof.probes.typeids import TypeFilter
from phaseprof.probes.typeinfo import loaded_module, type_name, with_subclasses
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Buffer", "BufferLocator", "buffer_addresses", "collect_arrays", "count_arrays", "owner_addresses"]

# Below this a buffer counted twice does not matter, and asking for its address costs more than it is worth.
_MIN_SHARED_BYTES = 1024


class Buffer(NamedTuple):
    """Who owns an array's memory.

    Attributes:
        owner_id: id of the object that owns the memory.
        size_bytes: its size.
        is_array: whether the owner is itself an array, which a container may hold beside the views.
    """

    owner_id: int
    size_bytes: int
    is_array: bool


def count_arrays() -> int:
    """Count the live numpy arrays, views as well, without our own; 0 where the program has no numpy.

    Cost: in C about 50 ns for each object in the heap, in Python 300.
    """
    if "numpy" not in sys.modules:
        return 0
    looked = looking.look({}, skip=own.own_ids())
    if looked is None:
        return _count_in_python()
    looked.foreign.clear()
    return looked.n_arrays


@uninterrupted
def _count_in_python() -> int:
    found: list[np.ndarray] = []
    with walk.Tracked() as tracked:
        try:
            found = collect_arrays(tracked, walk.reach(tracked, wanted=walk.array_types()))
            ours = own.own_ids()
            return sum(id(array_) not in ours for array_ in found)
        finally:
            found.clear()


def collect_arrays(tracked: walk.Tracked, reached: list[object]) -> list[np.ndarray]:
    """Join reached arrays with those of subclasses that the collector tracks; the caller drops the list."""
    found = tracked.pick(walk.array_types())
    found += TypeFilter(walk.array_types()).pick(reached)
    return cast("list[np.ndarray]", found)


def buffer_addresses(arrays: Iterable[np.ndarray]) -> frozenset[int]:
    """Return where the memory of each owning array begins, for telling tensors made by ``torch.from_numpy``.

    Cost: 1 µs for each array of at least 1 KiB; smaller ones are left out.
    """
    if "numpy" not in sys.modules:
        return frozenset()
    locate = BufferLocator()
    owners: dict[int, object] = {}
    for array_ in arrays:
        last, exporter = locate.last_array(array_)
        if exporter is None and locate.nbytes(last) >= _MIN_SHARED_BYTES:
            owners[id(last)] = last
    return frozenset(locate.address(owner) for owner in owners.values())


def owner_addresses(found: looking.Look) -> frozenset[int]:
    """Return where the memory of each owning array begins, as ``buffer_addresses`` does, from a look in C."""
    return frozenset(owner.address for owner in found.owners if owner.bytes >= _MIN_SHARED_BYTES)


class BufferLocator:
    """Find the object that owns an array's memory, through views of views and foreign exporters.

    Made for one reading: it knows the array classes that exist when it is made. numpy must be loaded.
    """

    def __init__(self) -> None:
        ndarray = sys.modules["numpy"].ndarray
        # Read through ndarray's own descriptors: a subclass may override the attributes in Python.
        self.base: Callable[[object], object] = ndarray.__dict__["base"].__get__
        self.nbytes: Callable[[object], int] = ndarray.__dict__["nbytes"].__get__
        self._interface: Callable[[object], dict[str, Any]] = ndarray.__dict__["__array_interface__"].__get__
        self._dtype: Callable[[object], object] = ndarray.__dict__["dtype"].__get__
        self._shape: Callable[[object], tuple[int, ...]] = ndarray.__dict__["shape"].__get__
        self.array_ids = frozenset(map(id, walk.array_types()))
        self._tensor_ids = frozenset(map(id, _tensor_family()))

    def __call__(self, array_: object) -> Buffer | None:
        """Return the owner of an array's memory; ``None`` if it belongs to a torch storage or a mapped file.

        Cost: 0.3 µs.
        """
        last, exporter = self.last_array(array_)
        if exporter is None:
            return Buffer(id(last), self.nbytes(last), is_array=True)
        return self._foreign(last, exporter)

    def address(self, array_: object) -> int:
        """Return where an array's first item lies. Cost: 0.8 µs."""
        return int(self._interface(array_)["data"][0])

    def describe(self, array_: object) -> str:
        """Write an array's item type and shape, as ``float32 (1000, 3)``."""
        return f"{self._dtype(array_)} {self._shape(array_)}"

    def last_array(self, array_: object) -> tuple[object, object]:
        """Follow views to the last array, and return it with the foreign object below it, ``None`` if it owns."""
        base = self.base(array_)
        while base is not None and id(type(base)) in self.array_ids:
            array_, base = base, self.base(base)
        return array_, base

    def _foreign(self, array_: object, exporter: object) -> Buffer | None:
        while type(exporter) is memoryview:
            exporter = exporter.obj
        cls = type(exporter)
        if id(cls) in self.array_ids:
            return self(exporter)
        if cls is mmap.mmap or id(cls) in self._tensor_ids:
            return None
        if type(exporter) is bytes or type(exporter) is bytearray:
            return Buffer(id(exporter), len(exporter), is_array=False)
        if type(exporter) is array:
            return Buffer(id(exporter), len(exporter) * exporter.itemsize, is_array=False)
        if type_name(cls).startswith("numpy."):  # as_strided puts a dummy between a view and the array it looks at
            for referent in gc.get_referents(exporter):
                inner = referent.get("base") if type(referent) is dict else referent
                if id(type(inner)) in self.array_ids:
                    return self(inner)
        return Buffer(id(exporter), self.nbytes(array_), is_array=False)


def _tensor_family() -> list[type]:
    torch = loaded_module("torch", "Tensor", "UntypedStorage", "TypedStorage")
    if torch is None:
        return []
    storages = [torch.UntypedStorage, torch.TypedStorage]
    return with_subclasses([torch.Tensor, *storages])
