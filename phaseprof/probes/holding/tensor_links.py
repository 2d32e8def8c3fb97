"""Links between tensors that only C++ knows: a graph and what it saved, a leaf and its gradient, a view's base."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from phaseprof.probes.autograd import graph_holding
from phaseprof.probes.skipped import skip
from phaseprof.probes.tensors import leaf_test, live_tensors, loaded_torch, plain_torch, tensors_with_graph

if TYPE_CHECKING:
    import torch


def is_tensor(obj: object) -> bool:
    """Say whether the object is a torch tensor, if torch was imported at all; runs no code of a subclass."""
    torch = loaded_torch()
    return torch is not None and issubclass(type(obj), torch._C.TensorBase)


def may_be_held_by_torch(obj: object) -> bool:
    """Say whether C++ may hold the object: a tensor, or the node of a custom autograd function."""
    torch = loaded_torch()
    return torch is not None and issubclass(type(obj), (torch._C.TensorBase, torch._C._FunctionBase))


def parents_in_torch(targets: Mapping[int, object]) -> list[tuple[object, object]]:
    """Return ``(holder, child)`` for targets that a tensor holds through C++.

    Args:
        targets: objects by id; tensors, or nodes of custom autograd functions.

    Cost: one pass over the heap and 5 us for each autograd node, 50,000 at most.
    """
    if not targets:
        return []
    holders = tensors_with_graph()
    # Newest first: the head of a chain of graphs, not one of the many tensors that it holds in turn.
    holders.reverse()
    try:
        found = graph_holding(holders, targets.keys())
        pairs: list[tuple[object, object]] = [(holders[index], targets[target]) for target, index in found.items()]
    finally:
        holders.clear()
    left = {identity: obj for identity, obj in targets.items() if identity not in found and is_tensor(obj)}
    return pairs + (_direct_links(left) if left else [])


def _direct_links(targets: Mapping[int, object]) -> list[tuple[object, object]]:
    tensors = live_tensors()
    try:
        with plain_torch(sys.modules["torch"]):
            return [(t, held) for t in tensors for held in _held_or_none(t) if targets.get(id(held)) is held]
    finally:
        tensors.clear()


def _held_or_none(tensor: torch.Tensor) -> list[object]:
    try:
        return _held(tensor)
    except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
        skip(tensor, error)
        return []


def _held(tensor: torch.Tensor) -> list[object]:
    """Return the gradient of a leaf, or the base of a view."""
    base = sys.modules["torch"]._C.TensorBase
    held: list[object] = []
    if leaf_test(sys.modules["torch"])(tensor) and base.requires_grad.__get__(tensor):
        held.append(base.grad.__get__(tensor))
    if base._is_view(tensor):
        held.append(base._base.__get__(tensor))
    return [obj for obj in held if obj is not None]


def references_in_cpp(obj: object) -> int:
    """Return how many references C++ holds to a tensor beside the one of its Python object; 0 for other objects."""
    if not is_tensor(obj):
        return 0
    try:
        count: int = sys.modules["torch"]._C.TensorBase._use_count(obj)
    except Exception as error:  # noqa: BLE001 - what a tensor of a library's own raises
        skip(obj, error)
        return 0
    return max(0, count - 1)


def link_name(holder: object, child: object) -> str:
    """Name the link from a tensor to what C++ holds for it."""
    tensor = cast("torch.Tensor", holder)
    with plain_torch(sys.modules["torch"]):
        if sys.modules["torch"]._C.TensorBase._backward_hooks.__get__(tensor) is child:
            return "._backward_hooks"
        if not any(held is child for held in _held_or_none(tensor)):
            return "autograd graph"
        return "._base" if sys.modules["torch"]._C.TensorBase._is_view(tensor) else ".grad"
