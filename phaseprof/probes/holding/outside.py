"""Suspects that no root leads to: dead cycles, and objects that only C holds."""

from __future__ import annotations

import atexit
import gc
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from phaseprof.native import looking
from phaseprof.probes.autograd import leaves_with_graph
from phaseprof.probes.holding.graph import Node, Root, ancestors
from phaseprof.probes.holding.tensor_links import is_tensor
from phaseprof.probes.typeinfo import is_one_of
from phaseprof.records import GARBAGE, OUTSIDE, STOPPED, UNKNOWN_HOLDER

if TYPE_CHECKING:
    import torch

    from phaseprof.probes.holding.search import Search

_LOOP_LENGTH = 6
_NAMED_FUNCTIONS = 3


def explain_orphan(node: Node, search: Search) -> Root:
    """Give a suspect without a root one that says why, on the object that nothing in Python explains.

    The references that Python objects and locals hold are compared with ``sys.getrefcount``: what is left over is
    held by C: a registry of callbacks, an extension's object, a tensor's C++ side, a value that a running function is
    just using. If nothing is left over, what is above the suspect is a dead cycle.
    """
    every = ancestors(node)
    told = next((found.root for found in every if found.root is not None), None)
    if told is not None:  # what holds it was explained with another suspect
        return told
    above = [found for found in every if found.obj is not None]
    known = (found for found in above if found.expanded and not found.truncated)
    held = next((found for found in known if search.unaccounted(found)), None)
    if held is not None:
        held.root = _outside(held, search.unaccounted(held), search.functions_not_read)
        return held.root
    if search.stopped or any(found.truncated or not found.expanded for found in above):
        return _give(node, Root(STOPPED, UNKNOWN_HOLDER, 0.0, "the search stopped before it met a root"))
    return _give(
        node, Root(GARBAGE, GARBAGE, 0.0, "nothing that lives refers to it: a full collection frees the cycle")
    )


def _give(node: Node, root: Root) -> Root:
    """Set the root a few holders above the suspect, so that the path shows what the object is part of."""
    path = [node]
    while len(path) < _LOOP_LENGTH:
        onward = [parent for parent in path[-1].parents if parent not in path and parent.root is None]
        if not onward:
            break
        path.append(onward[0])
    path[-1].root = root
    return root


def _outside(node: Node, count: int, not_read: Sequence[str]) -> Root:
    number = "1 reference is" if count == 1 else f"{count} references are"
    reason = f"no Python object explains it; {number} held outside Python"
    if gc.get_freeze_count() and not looking.is_available():
        reason += ", or by objects that gc.freeze() hides"
    if is_one_of(node.obj, (types.FunctionType, types.MethodType)) and atexit._ncallbacks():
        return Root(OUTSIDE, "atexit or another C registry", 0.0, reason + f" ({_registered()})")
    if is_one_of(node.obj, (types.GeneratorType, types.AsyncGeneratorType)):
        return Root("generator", "suspended", 0.0, reason + " (a running loop may be drawing from it)")
    if type(node.obj) is types.CoroutineType:
        return Root("coroutine", "suspended", 0.0, reason)
    if not_read:
        names = " or ".join(dict.fromkeys(not_read[:_NAMED_FUNCTIONS]))
        return Root(OUTSIDE, f"perhaps a local of {names}, not looked at", 0.0, reason)
    if is_tensor(node.obj):
        return Root(OUTSIDE, OUTSIDE, 0.0, reason + _by_torch(node.obj))
    return Root(OUTSIDE, OUTSIDE, 0.0, reason)


def _by_torch(tensor: object) -> str:
    if leaves_with_graph([cast("torch.Tensor", tensor)]):
        return " (its gradient has a graph that refers back to it, as backward(create_graph=True) leaves it)"
    return " (by torch: a graph, a gradient or an extension)"


def _registered() -> str:
    return f"atexit has {atexit._ncallbacks():,} callbacks"
