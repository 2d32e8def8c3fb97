"""Live torch tensors, and the storages behind them counted once each.

Nothing here imports torch, initialises a device, waits for one, or runs a tensor subclass's code: methods are taken
from torch's C base class, with function and dispatch overrides switched off.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes import census
from phaseprof.probes.skipped import skip
from phaseprof.probes.typeinfo import loaded_module, mro, namespace, with_subclasses
from phaseprof.probes.uninterrupted import call_that_waits

if TYPE_CHECKING:
    import torch

__all__ = ["live_tensors", "storages_of", "tensor_types", "tensors_with_graph"]


# Enough to find one that a container holds.
_MANY_TENSORS = 64
# An answer of torch's that takes a microsecond, unless another thread ran meanwhile.
_LONG_ANSWER_S = 0.002


def loaded_torch() -> ModuleType | None:
    """Return torch if the program has imported it to the end, else ``None``."""
    return loaded_module("torch", "Tensor", "_C")


def tensor_types() -> list[type]:
    """Return ``torch.Tensor`` and its subclasses; empty where the program has not imported torch."""
    torch = loaded_torch()
    return with_subclasses([torch.Tensor]) if torch is not None else []


def live_tensors() -> list[torch.Tensor]:
    """Return the live tensors that have a Python object; the caller must drop the list at once.

    Cost: one pass over the heap, about 50 ns an object.
    """
    return census.instances(tensor_types())  # type: ignore[return-value]  # instances of Tensor's family


def tensors_with_graph() -> list[torch.Tensor]:
    """Return the live tensors that have a ``grad_fn``; the caller must drop the list at once."""
    torch = loaded_torch()
    if torch is None:
        return []
    tensors = live_tensors()
    try:
        with plain_torch(torch):
            return not_leaves(tensors, torch)
    finally:
        tensors.clear()


def not_leaves(tensors: Iterable[torch.Tensor], library: ModuleType) -> list[torch.Tensor]:
    """Return those that have a ``grad_fn``: a tensor with one is no leaf, and asking for it would make an object."""
    is_leaf = leaf_test(library)
    return [tensor for tensor in tensors if not is_leaf(tensor)]


def leaf_test(library: ModuleType) -> Callable[[torch.Tensor], bool]:
    """Return a function that tells leaves, among them those tensors of which autograd refuses to speak.

    A view made without gradients whose base was then changed in place raises when it is asked for its history.
    """
    ask = library._C.TensorBase.is_leaf.__get__

    def is_leaf(tensor: torch.Tensor) -> bool:
        try:
            return bool(ask(tensor))
        except RuntimeError as error:
            raise_the_programs(error)
            return True
        except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
            skip(tensor, error)
            return True

    return is_leaf


def storages_of(tensors: Iterable[torch.Tensor]) -> dict[int, tuple[int, str]]:
    """Return address -> (bytes, device) of the storages behind the given tensors, each once.

    Gradients of leaf tensors count, though Python may never have touched them. Meta tensors and released storages are
    0 bytes; of wrapper subclasses (fake, functional, batched, jagged tensors) only the tensors inside them count.

    Cost: 1.5 µs a tensor.
    """
    torch = loaded_torch()
    if torch is None:
        return {}
    reader = StorageReader(torch)
    with plain_torch(torch):
        for tensor in tensors:
            try:
                reader.add(tensor)
                reader.add_gradient(tensor)
            except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
                skip(tensor, error)
    return reader.sizes


def large_storages(
    tensors: Iterable[torch.Tensor], min_bytes: int, *, except_at: Collection[int]
) -> list[tuple[int, str, list[torch.Tensor]]]:
    """Return (bytes, device, tensors on it) for each storage of at least ``min_bytes``; the caller drops the list.

    Of the tensors the widest comes first, and of very many only some are returned.
    """
    library = loaded_torch()
    if library is None:
        return []
    reader = StorageReader(library)
    with plain_torch(library):
        over = _by_storage(tensors, reader, min_bytes, except_at)
        numel = library._C.TensorBase.numel
        return [
            (*reader.sizes[address], sorted(found[:_MANY_TENSORS], key=lambda t: -numel(t)))
            for address, found in over.items()
        ]


def _by_storage(
    tensors: Iterable[torch.Tensor], reader: StorageReader, min_bytes: int, except_at: Collection[int]
) -> dict[int, list[torch.Tensor]]:
    over: dict[int, list[torch.Tensor]] = {}
    for tensor in tensors:
        address = _large_storage(tensor, reader, except_at)
        if address is not None and reader.sizes[address][0] >= min_bytes:
            over.setdefault(address, []).append(tensor)
    return over


def _large_storage(tensor: torch.Tensor, reader: StorageReader, except_at: Collection[int]) -> int | None:
    try:
        return None if except_at and reader.begins_at(tensor, except_at) else reader.add(tensor)
    except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
        skip(tensor, error)
        return None


def measured_bases() -> tuple[type, ...]:
    """Return the classes whose instances ``measure_each`` knows; empty where the program has not imported torch."""
    library = loaded_torch()
    return () if library is None else (library._C.TensorBase, library._C.StorageBase)


def measure_each(holders: Iterable[object]) -> list[tuple[int, bool]]:
    """Return for each tensor or storage the bytes that none before it stands on, and whether it keeps a graph.

    The storage of a leaf's gradient counts with the leaf.  Cost: 1.5 µs each.
    """
    library = loaded_torch()
    if library is None:
        return []
    reader = StorageReader(library)
    with plain_torch(library):
        return [_measure_holder(holder, reader, library) for holder in holders]


def storages_behind(holders: Iterable[object]) -> dict[int, tuple[int, str]]:
    """Return address -> (bytes, device) of the storages behind tensors and storages, gradients' among them."""
    library = loaded_torch()
    if library is None:
        return {}
    reader = StorageReader(library)
    with plain_torch(library):
        for holder in holders:
            _measure_holder(holder, reader, library)
    return reader.sizes


def _measure_holder(holder: object, reader: StorageReader, library: ModuleType) -> tuple[int, bool]:
    known = len(reader.sizes)
    try:
        if not issubclass(type(holder), library._C.TensorBase):
            storage = cast("torch.UntypedStorage", holder)
            size = int(library._C.StorageBase.nbytes(storage))
            reader.sizes.setdefault(storage._cdata, (size, str(storage.device)))
            has_graph = False
        else:
            tensor = cast("torch.Tensor", holder)
            reader.add(tensor)
            reader.add_gradient(tensor)
            has_graph = not leaf_test(library)(tensor)
    except RuntimeError as error:  # a storage that was given away, a tensor whose history is not to be told
        raise_the_programs(error)
        has_graph = False
    except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
        skip(holder, error)
        has_graph = False
    return sum(size for size, _ in islice(reversed(reader.sizes.values()), len(reader.sizes) - known)), has_graph


def describe(tensor: torch.Tensor) -> str:
    """Write a tensor's item type and shape, as ``float32 (64, 3)``; no code of a subclass runs.

    Of a nested tensor, which has no shape, the number of items stands for it: ``float32, 5,000 items``.
    """
    torch = sys.modules["torch"]
    base = torch._C.TensorBase
    with plain_torch(torch):
        try:
            kind = str(base.dtype.__get__(tensor)).removeprefix("torch.")
            if base.is_nested.__get__(tensor):
                return f"{kind}, {base.numel(tensor):,} items"
            return f"{kind} {tuple(base.size(tensor))}"
        except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
            skip(tensor, error)
            return "of unknown shape"


@contextlib.contextmanager
def plain_torch(torch: ModuleType) -> Iterator[None]:
    """Switch off function and dispatch overrides in this thread, so that no subclass or mode of the user's runs."""
    with contextlib.ExitStack() as stack:
        for guard in filter(partial(hasattr, torch._C), ("DisableTorchFunction", "_DisableTorchDispatch")):
            stack.enter_context(getattr(torch._C, guard)())
        yield


class StorageReader:
    """Collect the storages of tensors, with as little trace left behind as torch allows.

    ``Tensor.untyped_storage()`` makes a Python object that lives as long as the storage: 100 bytes and one more object
    for the collector on every tensor looked at. So it is asked only of tensors that do not fill their storage; whether
    they do is asked of ``aten::_has_same_storage_numel`` against a meta tensor of equal length (0.9 µs, nothing kept).
    """

    def __init__(self, torch: ModuleType) -> None:
        self.sizes: dict[int, tuple[int, str]] = {}
        base = torch._C.TensorBase
        self._torch, self._base = torch, base
        self._address = getattr(torch._C, "_storage_address", None) or _address_by_object(base)
        self._fills = _fill_test(torch)
        self._begins = getattr(torch._C, "_data_address", None) or _begin_by_pointer(torch)
        self._numel, self._item_size = base.numel, base.element_size
        self._device = base.device.__get__
        self._requires_grad, self._is_leaf = base.requires_grad.__get__, leaf_test(torch)
        self._grad = base.grad.__get__
        self._device_names: dict[object, str] = {}
        self._plain_types: dict[int, bool] = {}

    def add(self, tensor: torch.Tensor) -> int | None:
        """Count a tensor's storage, and return its address; ``None`` if the tensor has no storage of its own."""
        try:
            address: int = self._address(tensor)
            if address not in self.sizes:
                self.sizes[address] = self._measure(tensor)
            return address
        except (RuntimeError, NotImplementedError) as error:  # no storage: sparse, opaque, a wrapper of another tensor
            raise_the_programs(error)
            self._add_parts(tensor)
            return None

    def add_all(self, tensors: Iterable[torch.Tensor]) -> None:
        """Count the storages of tensors; one that cannot be read is passed over."""
        _each(self.add, tensors)

    def add_gradients(self, tensors: Iterable[torch.Tensor]) -> None:
        """Count the storages of the gradients that tensors have."""
        _each(self.add_gradient, tensors)

    def begins_at(self, tensor: torch.Tensor, addresses: Collection[int]) -> bool:
        """Say whether a plain CPU tensor's storage begins at one of the addresses."""
        if not self._is_plain(type(tensor)):
            return False
        try:
            start = self._begins(tensor)
        except (RuntimeError, NotImplementedError) as error:  # sparse, opaque
            raise_the_programs(error)
            return False
        return start in addresses and bool(self._device(tensor).type == "cpu")

    def add_gradient(self, tensor: torch.Tensor) -> None:
        # Asked of a tensor that is no leaf, ``grad`` warns.
        if self._requires_grad(tensor) and self._is_leaf(tensor):
            gradient = self._grad(tensor)
            if gradient is not None:
                self.add(gradient)

    def _measure(self, tensor: torch.Tensor) -> tuple[int, str]:
        base = self._base
        if not self._is_plain(type(tensor)):
            return self._measure_object(tensor)
        device = self._device(tensor)
        name = self._device_names.get(device)
        if name is None:
            name = self._device_names[device] = str(device)
        if name == "meta":
            return 0, name
        if base.is_quantized.__get__(tensor):
            self._add_quantizer(tensor)
        try:
            n_items = self._numel(tensor)
            if self._fills is not None and self._is_filled(tensor, n_items):
                return n_items * self._item_size(tensor), name
        except (RuntimeError, NotImplementedError) as error:
            raise_the_programs(error)
            # a strided nested tensor has a storage, but no such operator
        return base.untyped_storage(tensor).nbytes(), name

    def _measure_object(self, tensor: torch.Tensor) -> tuple[int, str]:
        """Measure a subclass with its own dispatch: it may claim a size for memory that does not exist."""
        storage = self._base.untyped_storage(tensor)
        name = str(storage.device)
        if name == "meta" or not self._begins(tensor):
            return 0, name
        return storage.nbytes(), name

    def _is_filled(self, tensor: torch.Tensor, n_items: int) -> bool:
        """Ask torch's operator, which lets other threads run; where one computes, it is not asked again."""
        assert self._fills is not None
        began = time.perf_counter()
        answer = self._fills(tensor, n_items)
        if time.perf_counter() - began > _LONG_ANSWER_S:
            self._fills = None
        return answer

    def _is_plain(self, cls: type) -> bool:
        plain = self._plain_types.get(id(cls))
        if plain is None:
            plain = self._plain_types[id(cls)] = not overrides_dispatch(cls, self._torch)
        return plain

    def _add_quantizer(self, tensor: torch.Tensor) -> None:
        base = self._base
        if base.qscheme(tensor) in (self._torch.per_channel_affine, self._torch.per_channel_affine_float_qparams):
            self.add(base.q_per_channel_scales(tensor))
            self.add(base.q_per_channel_zero_points(tensor))

    def _add_parts(self, tensor: torch.Tensor) -> None:
        """Add the tensors that a sparse one is made of; of anything else without a storage only oneDNN's counts."""
        if not self._is_plain(type(tensor)):
            return
        base = self._base
        layout = str(base.layout.__get__(tensor))
        for part in _SPARSE_PARTS.get(layout, ()):
            self.add(getattr(base, part)(tensor))
        if layout == "torch._mkldnn":  # opaque: how the library lays it out, and pads it, is not to be seen
            size = self._numel(tensor) * self._item_size(tensor)
            self.sizes[id(tensor)] = (size, str(self._device(tensor)))


def _each(read: Callable[[torch.Tensor], object], tensors: Iterable[torch.Tensor]) -> None:
    for tensor in tensors:
        try:
            read(tensor)
        except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
            skip(tensor, error)


_SPARSE_PARTS = {
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def overrides_dispatch(cls: type, torch: ModuleType) -> bool:
    """Say whether a tensor class brings its own ``__torch_dispatch__``; no code of the class runs."""
    plain = namespace(torch.Tensor).get("__torch_dispatch__")
    for base in mro(cls):
        found = namespace(base).get("__torch_dispatch__")
        if found is not None:
            return found is not plain
    return False


def _begin_by_pointer(torch: ModuleType) -> Callable[[object], int]:
    """Return what tells where a storage begins, on a torch that does not; asking copies what is shared on write."""
    base, shares = torch._C.TensorBase, getattr(torch._C, "_is_cow_tensor", bool)

    def begin(tensor: object) -> int:
        if shares is not bool and shares(tensor):
            return 0
        start: int = base.data_ptr(tensor) - base.storage_offset(tensor) * base.element_size(tensor)
        return start

    return begin


def _address_by_object(base: type) -> Callable[[object], int]:
    return lambda tensor: base.untyped_storage(tensor)._cdata  # type: ignore[attr-defined]


def _fill_test(torch: ModuleType) -> Callable[[object, int], bool] | None:
    """Return a test whether a tensor has as many items as its storage; ``None`` on a torch without that operator."""
    packet = getattr(torch.ops.aten, "_has_same_storage_numel", None)
    if packet is None:
        return None
    same = packet.default
    rulers: dict[int, object] = {}

    def fills(tensor: object, n_items: int) -> bool:
        ruler = rulers.get(n_items)
        if ruler is None:
            ruler = rulers[n_items] = torch.empty(n_items, dtype=torch.uint8, device="meta")
        return bool(call_that_waits(same, tensor, ruler))

    return fills
