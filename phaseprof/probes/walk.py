"""Reach what the collector does not list: arrays, bytes, and the tuples and dicts it has stopped tracking.

``gc.get_objects()`` leaves out every object that cannot be part of a cycle. Such objects are found from the tracked
containers (and running functions' locals) that refer to them, through as many untracked tuples and dicts as it takes.
"""

from __future__ import annotations

import gc
import inspect
import sys
import types
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from phaseprof.probes.own import is_own_frame
from phaseprof.probes.typeinfo import TypeFilter, untracked, with_subclasses

if TYPE_CHECKING:
    import numpy as np

# Large enough that the call's own cost vanishes, small enough that the list of referents stays in the cache.
_CHUNK = 2048


# Objects that refer to functions, types and names only: nothing that is looked for hangs below them directly. A class
# is among them since its namespace is a tracked dict of its own.
_BARREN = (
    type,
    property,
    staticmethod,
    classmethod,
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GenericAlias,
    types.UnionType,
    types.ModuleType,
)


def reach(tracked: Sequence[object], types_of: Sequence[type], *, wanted: Iterable[type]) -> list[object]:
    """Find the untracked objects of wanted types behind tracked ones, each once.

    Args:
        tracked: the collector's objects.
        types_of: their types, in order.
        wanted: exact types to return; ``dict`` and ``tuple`` may be among them.

    Returns:
        The objects; the caller must drop the list at once.

    Cost: about 200 ns a tracked object.
    """
    wanted = list(wanted)
    arrays = array_types()
    # The collector stops tracking tuples and dicts that hold nothing collectable, and never tracks arrays.
    look, hiding = TypeFilter([*wanted, tuple, dict, *arrays]), TypeFilter([tuple, dict])
    array_filter = TypeFilter(arrays)
    found: dict[int, object] = {}
    fresh: dict[int, object] = {}
    try:
        _gather(fresh, TypeFilter(_BARREN).drop(tracked, types_of), look)
        _merge(fresh, running_locals(), look)
        _merge(fresh, array_items(array_filter.pick(tracked, types_of)), look)
        while fresh:
            found.update(fresh)
            latest = list(fresh.values())
            fresh = {}
            _gather(fresh, hiding.pick(latest), look)
            _merge(fresh, array_items(array_filter.pick(latest)), look)
            for known in found.keys() & fresh.keys():
                del fresh[known]
        return TypeFilter(wanted).pick(list(found.values()))
    finally:
        found.clear()


def find_untracked(wanted: Iterable[type]) -> list[object]:
    """Find every reachable instance of exact types that the collector does not track; the caller drops the list."""
    tracked = gc.get_objects()
    try:
        return reach(tracked, list(map(type, tracked)), wanted=wanted)
    finally:
        tracked.clear()


def _gather(found: dict[int, object], holders: Sequence[object], look: TypeFilter) -> None:
    """Add to ``found`` what the holders refer to, if it is of interest and the collector does not track it."""
    for start in range(0, len(holders), _CHUNK):
        _merge(found, gc.get_referents(*holders[start : start + _CHUNK]), look)


def _merge(found: dict[int, object], referents: Sequence[object], look: TypeFilter) -> None:
    hidden = list(untracked(look.pick(referents)))
    found.update(zip(map(id, hidden), hidden, strict=True))


def running_locals() -> list[object]:
    """Return the values of local variables of every running function but ours; the caller drops the list.

    On Python 3.11 and later no container that the collector knows refers to them. Values on the evaluation stack
    (the iterable of a running loop) cannot be seen.
    """
    values: list[object] = []
    for top in sys._current_frames().values():
        frame: types.FrameType | None = top
        while frame is not None:
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED and not is_own_frame(frame):
                values += _local_values(frame)
            frame = frame.f_back
    return values


def _local_values(frame: types.FrameType) -> list[object]:
    if sys.version_info < (3, 11):
        return gc.get_referents(frame)
    if sys.version_info >= (3, 13):
        return list(frame.f_locals.values())
    # Up to 3.12 the mapping is a copy that the frame keeps, and with it every value, until the function ends: empty it,
    # unless the function asked for its ``locals()`` itself and holds the same dict (references: frame, ours, argument).
    snapshot = frame.f_locals
    values = list(snapshot.values())
    if type(snapshot) is dict and sys.getrefcount(snapshot) <= 3:
        snapshot.clear()
    return values


def array_items(arrays: Iterable[object]) -> list[object]:
    """Return the items of those arrays that hold Python objects; the caller drops the list.

    The collector does not see into arrays. No code of an array subclass runs.
    """
    numpy = sys.modules.get("numpy")
    items: list[object] = []
    if numpy is None:
        return items
    dtype_of = numpy.ndarray.__dict__["dtype"].__get__
    for array in arrays:
        if dtype_of(array).hasobject:
            items += _object_items(numpy.ndarray.view(array, numpy.ndarray))
    return items


def _object_items(plain: np.ndarray) -> list[object]:
    fields = plain.dtype.fields
    if fields is None:
        return plain.ravel().tolist() if plain.dtype.hasobject else []
    return [item for name in fields for item in _object_items(plain[name])]


def array_types() -> list[type]:
    """Return ``numpy.ndarray`` and its subclasses; empty where the program has not imported numpy."""
    numpy = sys.modules.get("numpy")
    return with_subclasses([numpy.ndarray]) if numpy is not None and hasattr(numpy, "ndarray") else []
