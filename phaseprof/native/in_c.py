"""The walk by place through the extension: what it is given, and what its answer means."""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, cast

from phaseprof.native.extension import CONTAINERS, Extension, addresses
from phaseprof.native.kinds import TRUSTED
from phaseprof.native.layout import word
from phaseprof.native.paths import steps_to
from phaseprof.native.reference import NUMBER_OF_OBJECT
from phaseprof.native.roots import Starts, place_of
from phaseprof.native.table import OUTSIDE, UNREACHABLE, PathStep, PlaceTable, Root
from phaseprof.probes import tensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ENDS = (Root(OUTSIDE), Root(UNREACHABLE))
_ROOT = -1  # number of the type of a row that is a root


def read(module: Extension, starts: Starts, *, limit_s: float | None) -> PlaceTable:
    """Read the heap by place; see ``places.read_places``."""
    import numpy as np

    answer = _walk(module, starts, limit_s, None)
    columns = cast("tuple[bytes, ...]", answer[:5])
    place, parent, kind, number, own_bytes = (np.frombuffer(column, np.int64) for column in columns)
    names, measured, rows, n_met, is_partial = cast("tuple[list[str], list[object], bytes, int, int]", answer[5:])
    own_bytes, n_graph = own_bytes.copy(), np.zeros(len(place), np.int64)
    try:
        sizes = tensors.measure_each(measured)
    finally:
        measured.clear()
    if sizes:
        at = np.frombuffer(rows, np.uint32)
        np.add.at(own_bytes, at, np.array([size for size, _ in sizes], np.int64))
        np.add.at(n_graph, at, np.array([has_graph for _, has_graph in sizes], np.int64))
    roots = _roots_of(starts)
    types, type_index = _types(kind, names, [roots[p].kind for p in place[kind == _ROOT].view(np.uint64).tolist()])
    return PlaceTable(
        place=place.view(np.uint64),
        parent=parent.view(np.uint64),
        type_index=type_index,
        n_objects=number,
        own_bytes=own_bytes,
        n_graph=n_graph,
        types=types,
        roots=roots,
        n_met=n_met,
        partial=bool(is_partial),
    )


def resolve(
    module: Extension, starts: Starts, wanted: Collection[int], *, limit_s: float | None
) -> dict[int, tuple[PathStep, ...]]:
    """Say how to get to places; see ``places.resolve``."""
    roots = _roots_of(starts)
    found = cast(
        "list[tuple[int, int, list[tuple[object, object]]]]", _walk(module, starts, limit_s, addresses(wanted))
    )
    try:
        return {place: steps_to(roots[root], links) for place, root, links in found}
    finally:
        found.clear()


def _walk(module: Extension, starts: Starts, limit_s: float | None, wanted: bytes | None) -> tuple[object, ...]:
    objects = [start.obj for start in starts.starts]
    places = addresses(place_of(start.root) for start in starts.starts)
    ends = addresses(map(place_of, _ENDS)) if starts.is_whole else b""
    measured, skip = tensors.measured_bases(), addresses((*starts.skip, id(objects)))
    try:
        return module.places(
            objects, places, skip, CONTAINERS, array_type(), measured, TRUSTED, ends, limit_or_none(limit_s), wanted
        )
    finally:
        objects.clear()


def limit_or_none(limit_s: float | None) -> float:
    """Return a limit as the extension takes it: 0 is none, and none that is over already."""
    return 0.0 if limit_s is None else max(limit_s, 1e-9)


def _roots_of(starts: Starts) -> dict[int, Root]:
    found = {place_of(start.root): start.root for start in starts.starts}
    if starts.is_whole:
        found.update((place_of(root), root) for root in _ENDS)
    return found


def _types(kind: NDArray[np.int64], names: list[str], of_roots: list[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Number the names of types: several types may have one name, and a root has that of its kind."""
    import numpy as np

    numbers: dict[str, int] = {}
    by_kind = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
    index = by_kind[np.maximum(kind, 0)] if len(names) else np.zeros(len(kind), np.int32)
    index[kind == _ROOT] = [numbers.setdefault(name, len(numbers)) for name in of_roots]
    return tuple(numbers), index


def array_type() -> type | None:
    """Return numpy's array type, ``None`` where there is none, or it is laid out otherwise than expected."""
    ndarray = getattr(sys.modules.get("numpy"), "ndarray", None)
    return ndarray if ndarray is not None and _is_laid_out(ndarray) else None


@cache
def _is_laid_out(ndarray: type) -> bool:
    import ctypes

    import numpy as np

    owner = np.zeros((3, 5))
    view = owner[1:]
    objects = np.dtype(object)
    at = id(view)
    shape = word(at + 32)
    return (
        word(at + 16) == view.ctypes.data
        and ctypes.c_int.from_address(at + 24).value == 2
        and (word(shape), word(shape + 8)) == view.shape
        and word(at + 48) == id(owner)
        and word(at + 56) == id(view.dtype)
        and ctypes.c_int.from_address(id(objects) + 28).value == NUMBER_OF_OBJECT
    )
