"""What live tensors are for, by device: parameters, gradients, optimizer state, with a graph, inputs, other."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from phaseprof.native.places import members
from phaseprof.probes import census
from phaseprof.probes.autograd import saved_in_graphs
from phaseprof.probes.skipped import skip
from phaseprof.probes.tensors import StorageReader, leaf_test, live_tensors, loaded_torch, not_leaves, plain_torch
from phaseprof.probes.typeinfo import is_a, is_one_of, with_subclasses
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import torch

PARAMETERS, GRADIENTS, OPTIMIZER_STATE, WITH_GRAPH, INPUTS, OTHER = CATEGORIES = (
    "parameters", "gradients", "optimizer_state", "with_graph", "inputs", "other",
)  # fmt: skip
# An optimizer's state is a dict by parameter of dicts by name; an optimizer around another adds a step or two.
_DEEPEST = 6
_FOLLOWED = (dict, defaultdict, list, tuple)
# Nodes of graphs that are asked what they saved; inputs of more are among the other tensors.
_MOST_NODES = 4_000


@uninterrupted
def tensor_categories() -> dict[str, dict[str, int]]:
    """Return bytes of live storages by device and category.

    A storage counts once, in the first of ``CATEGORIES`` that one of its tensors belongs to.  What autograd saved for
    the backward pass has no Python object unless the program keeps one, and is not among them: on an accelerator it is
    what is allocated beyond all of these.  Inputs are what a graph was given and saved: leaves that want no gradient
    and are no buffer of a module; a constant that was multiplied with is one as well.

    Returns:
        device such as ``cuda:0`` -> category -> bytes; empty where the program has not imported torch.

    Cost: about 50 ns for each object in the heap, 2 µs for each tensor, and 4 for each of up to 4,000 nodes of graphs.
    """
    library = loaded_torch()
    sums: dict[str, dict[str, int]] = {}
    if library is not None:
        for category, size, device in _categorised(library).values():
            sums.setdefault(device, dict.fromkeys(CATEGORIES, 0))[category] += size
    return sums


class TensorsThere(NamedTuple):
    """What tensors of one device and category hold at a place and below it, each storage once."""

    place: int
    device: str
    category: str
    n_storages: int
    n_bytes: int


@uninterrupted
def tensors_at(
    places: Collection[int], roots: Mapping[str, object] | None = None, *, libraries: bool = True
) -> list[TensorsThere]:
    """Return what tensors lie at places and below them, by device and category, the heaviest first.

    A gradient lies where its leaf does.  A storage that is met at two places counts at the first.

    Args:
        places: of a table that was read in this process.
        roots: from which the table was read.
        libraries: whether it was read with them.

    Cost: that of a look by place, and that of ``tensor_categories``.  Nothing is kept.
    """
    library = loaded_torch()
    if library is None:
        return []
    found, homes, _ = members(places, roots, libraries=libraries)
    try:
        categories = _categorised(library)
        return _add_up(library, found, homes.tolist(), categories)
    finally:
        found.clear()


def _add_up(
    library: ModuleType, found: Sequence[object], homes: Sequence[int], categories: Mapping[int, tuple[str, int, str]]
) -> list[TensorsThere]:
    reader, tensor = StorageReader(library), library.Tensor
    sums: dict[tuple[int, str, str], list[int]] = {}
    with plain_torch(library):
        for one, home in zip(found, homes, strict=True):
            if not is_a(one, tensor):
                continue
            known = len(reader.sizes)
            reader.add_all([one])
            reader.add_gradients([one])
            for address in islice(reversed(reader.sizes), len(reader.sizes) - known):
                size, device = reader.sizes[address]
                category = categories[address][0] if address in categories else OTHER
                there = sums.setdefault((home, device, category), [0, 0])
                there[0] += 1
                there[1] += size
    return sorted((TensorsThere(*key, *there) for key, there in sums.items()), key=lambda one: -one.n_bytes)


def _categorised(library: ModuleType) -> dict[int, tuple[str, int, str]]:
    """Return of each live storage, by address, its category, bytes and device."""
    tensors = live_tensors()
    state = _optimizer_state(library)
    try:
        return _sort(library, tensors, state)
    finally:
        tensors.clear()
        state.clear()


def _sort(
    library: ModuleType, tensors: list[torch.Tensor], state: list[torch.Tensor]
) -> dict[int, tuple[str, int, str]]:
    reader = StorageReader(library)
    found: dict[int, tuple[str, int, str]] = {}

    def take(category: str) -> None:
        """Take what the reader has met since the last call."""
        for address in reader.sizes.keys() - found.keys():
            found[address] = (category, *reader.sizes[address])

    parameter = library.nn.Parameter
    with plain_torch(library):
        parameters = [tensor for tensor in tensors if is_a(tensor, parameter)]
        with_graph = not_leaves(tensors, library)
        inputs = _inputs(library, tensors, with_graph)
        try:
            reader.add_all(parameters)
            take(PARAMETERS)
            reader.add_gradients(tensors)
            take(GRADIENTS)
            reader.add_all(state)
            take(OPTIMIZER_STATE)
            reader.add_all(with_graph)
            take(WITH_GRAPH)
            reader.add_all(inputs)
            take(INPUTS)
            reader.add_all(tensors)
            take(OTHER)
        finally:
            parameters.clear()
            with_graph.clear()
            inputs.clear()
    return found


def _inputs(library: ModuleType, tensors: list[torch.Tensor], with_graph: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the leaves that want no gradient, are no module's buffers, and were saved by a graph."""
    is_leaf, wants_gradient = leaf_test(library), library._C.TensorBase.requires_grad.__get__
    saved = saved_in_graphs(with_graph, set(map(id, tensors)), max_nodes=_MOST_NODES) if with_graph else set()
    if not saved:
        return []
    buffers = _buffers(library)
    return [
        one for one in tensors
        if id(one) in saved and id(one) not in buffers and is_leaf(one) and not wants_gradient(one)
    ]  # fmt: skip


def _buffers(library: ModuleType) -> set[int]:
    """Return the buffers of modules by ``id()``: they are saved as inputs are, and belong to the model."""
    modules = census.instances(with_subclasses([library.nn.Module]))
    found: set[int] = set()
    try:
        for module in modules:
            try:
                found.update(map(id, object.__getattribute__(module, "_buffers").values()))
            except Exception as error:  # noqa: BLE001 - a module that was not initialised, or is one by name only
                skip(module, error)
        return found
    finally:
        modules.clear()


def _optimizer_state(library: ModuleType) -> list[torch.Tensor]:
    """Return the tensors that optimizers hold in plain containers, their parameters among them."""
    optim = getattr(library, "optim", None)
    if optim is None:
        return []
    level: list[object] = list(census.instances(with_subclasses([optim.Optimizer])))
    found: list[torch.Tensor] = []
    seen: set[int] = set()
    tensor = library.Tensor
    for _ in range(_DEEPEST):
        below = _new(gc.get_referents(*level), seen)
        found += [one for one in below if is_a(one, tensor)]
        level = [one for one in below if is_one_of(one, _FOLLOWED)]
        if not level:
            break
    level.clear()
    return found


def _new(objects: Iterable[object], seen: set[int]) -> list[object]:
    fresh = {id(one): one for one in objects if id(one) not in seen}
    seen.update(fresh)
    return list(fresh.values())
