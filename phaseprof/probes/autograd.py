"""Autograd graphs that stay alive: how many nodes they have, and what they hold.

The collector sees nothing below a ``grad_fn``; what hangs there is walked over ``next_functions`` and the saved
tensors, in a loop, never by recursion. Nothing is unpacked and no backward pass is run: saved tensors are read through
``_raw_saved_*``, which gives what is stored, and those with a pack or unpack hook of the user's are passed over.
"""

from __future__ import annotations

import contextlib
import gc
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.skipped import skip
from phaseprof.probes.tensors import leaf_test, loaded_torch, plain_torch
from phaseprof.probes.typeinfo import is_one_of, mro, namespace
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import torch

_GETTER_TYPES = (types.GetSetDescriptorType, types.MemberDescriptorType)


@uninterrupted
def count_nodes(tensors: Sequence[torch.Tensor], *, max_nodes: int) -> int:
    """Return how many nodes hang from all the tensors together, each once; at the limit ``max_nodes``.

    Cost: about 1 us a node; saved tensors are not read.
    """
    walk = _Walk(max_nodes)
    try:
        with walk.switched_off():
            for tensor in tensors:
                walk.follow(tensor)
        return max_nodes if walk.truncated else len(walk.nodes)
    finally:
        walk.clear()


@uninterrupted
def leaves_with_graph(tensors: Sequence[torch.Tensor]) -> list[int]:
    """Return the indexes of leaf tensors whose gradient has a graph of its own.

    ``backward(create_graph=True)`` leaves them: the gradient's graph refers to the leaf and the leaf to its gradient,
    a cycle in C++ that no collection frees; ``zero_grad(set_to_none=True)`` does.
    """
    library = loaded_torch()
    if library is None:
        return []
    base = library._C.TensorBase
    is_leaf, wants, grad = leaf_test(library), base.requires_grad.__get__, base.grad.__get__

    def has_graph(tensor: torch.Tensor) -> bool:
        try:
            gradient = grad(tensor) if is_leaf(tensor) and wants(tensor) else None
        except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
            skip(tensor, error)
            return False
        return gradient is not None and not is_leaf(gradient)

    with plain_torch(library):
        answers = list(map(has_graph, tensors))
    return [index for index, answer in enumerate(answers) if answer]


@uninterrupted
def graph_holding(
    tensors: Sequence[torch.Tensor],
    targets: Collection[int],
    *,
    max_nodes: int = 50_000,
) -> dict[int, int]:
    """Find which tensor's graph keeps an object alive: one it saved, a leaf it points to, or a custom node itself.

    Args:
        tensors: tensors that may have a ``grad_fn``; the first whose graph holds a target is told.
        targets: ``id()`` of the objects asked about.
        max_nodes: nodes at most, all graphs together.

    Returns:
        Target id to the index of the tensor.
    """
    walk = _Walk(max_nodes)
    wanted = set(targets)
    found: dict[int, int] = {}
    try:
        with walk.switched_off():
            for index, tensor in enumerate(tensors):
                if walk.truncated or len(found) == len(wanted):
                    break
                start = len(walk.nodes)
                walk.follow(tensor)
                for node in walk.nodes[start:]:
                    held = {id(obj) for obj in (node, *walk.saved_by(node), *walk.leaf_of(node)) if obj is not tensor}
                    found.update((target, index) for target in held & wanted if target not in found)
        return found
    finally:
        walk.clear()


def saved_in_graphs(tensors: Sequence[torch.Tensor], among: Collection[int], *, max_nodes: int) -> set[int]:
    """Return which of some objects, by ``id()``, the graphs of tensors saved for the backward pass.

    For functions that are ``uninterrupted`` and have switched off the user's modes.  Cost: about 4 us a node.

    Args:
        tensors: tensors that may have a ``grad_fn``.
        among: ``id()`` of the live objects asked about.
        max_nodes: nodes at most, all graphs together.
    """
    walk = _Walk(max_nodes)
    try:
        for tensor in tensors:
            walk.follow(tensor)
        return {id(saved) for node in walk.nodes for saved in walk.saved_by(node) if id(saved) in among}
    finally:
        walk.clear()


class _Getters:
    """The C descriptors of one node type, looked up once."""

    __slots__ = ("following", "leaf", "raw")

    def __init__(self, cls: type) -> None:
        found: dict[str, Callable[[object], object]] = {}
        for base in reversed(mro(cls)):
            for name, member in namespace(base).items():
                if is_one_of(member, _GETTER_TYPES):
                    found[name] = cast("Callable[[object], object]", member.__get__)  # type: ignore[attr-defined]
        self.following = found.get("next_functions")
        self.leaf = found.get("variable")
        self.raw = [getter for name, getter in found.items() if name.startswith("_raw_saved_")]


class _Walk:
    """One walk: the nodes met, held until ``clear`` so that their ids stay theirs (Python makes node objects anew)."""

    def __init__(self, max_nodes: int) -> None:
        self._max_nodes = max_nodes
        self._torch = loaded_torch()
        self._seen: set[int] = set()
        self._getters: dict[int, _Getters] = {}
        self.nodes: list[object] = []
        self.truncated = False

    def switched_off(self) -> contextlib.AbstractContextManager[None]:
        """Switch off the user's function and dispatch modes while tensors are read."""
        return contextlib.nullcontext() if self._torch is None else plain_torch(self._torch)

    def follow(self, tensor: torch.Tensor) -> None:
        """Add every node behind the tensor that was not met yet."""
        if self._torch is None or self.truncated:
            return
        try:
            first = self._torch._C.TensorBase.grad_fn.__get__(tensor)
        except RuntimeError as error:  # a view whose base was changed behind autograd's back
            raise_the_programs(error)
            return
        except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
            skip(tensor, error)
            return
        if first is None or id(first) in self._seen:
            return
        at = len(self.nodes)
        self._add(first)
        while at < len(self.nodes):
            if len(self.nodes) >= self._max_nodes:
                self.truncated = True
                return
            self._follow_node(self.nodes[at])
            at += 1

    def _follow_node(self, node: object) -> None:
        following = self._of(node).following
        if following is not None:
            for after, _ in cast("tuple[tuple[object, int], ...]", following(node)):
                if after is not None and id(after) not in self._seen:
                    self._add(after)

    def _add(self, node: object) -> None:
        self._seen.add(id(node))
        self.nodes.append(node)

    def _of(self, node: object) -> _Getters:
        cls = type(node)
        getters = self._getters.get(id(cls))  # the nodes are held, and so are their types
        if getters is None:
            getters = self._getters[id(cls)] = _Getters(cls)
        return getters

    def saved_by(self, node: object) -> Iterator[torch.Tensor]:
        """Yield the tensors that one node saved, and those that a custom function put on its context."""
        for getter in self._of(node).raw:
            try:
                stored = getter(node)
            except RuntimeError as error:  # freed by backward
                raise_the_programs(error)
                continue
            except Exception as error:  # noqa: BLE001 - what a node of a library's own raises
                skip(node, error)
                continue
            for raw in stored if is_one_of(stored, (tuple, list)) else (stored,):  # type: ignore[attr-defined]
                yield from self._data(raw)
        if gc.is_tracked(node):  # a custom function's node is a Python object with attributes of its own
            yield from self._attributes(node)

    def _data(self, raw: object) -> Iterator[torch.Tensor]:
        saved = cast("torch._C._autograd.SavedTensor", raw)
        is_packed = getattr(saved, "unpack_hook", None) is not None
        data = saved.data if not is_packed and hasattr(saved, "data") else None
        if data is not None and self._is_tensor(data):
            yield data

    def _attributes(self, node: object) -> Iterator[torch.Tensor]:
        for held in gc.get_referents(node):
            inner = gc.get_referents(held) if is_one_of(held, (dict, tuple, list)) else [held]
            yield from (found for found in inner if self._is_tensor(found))

    def _is_tensor(self, obj: object) -> bool:
        return self._torch is not None and issubclass(type(obj), self._torch._C.TensorBase)

    def leaf_of(self, node: object) -> tuple[object, ...]:
        """Return the leaf tensor that an accumulator adds to."""
        getter = self._of(node).leaf
        return () if getter is None else (getter(node),)

    def clear(self) -> None:
        self.nodes.clear()
        self._seen.clear()
