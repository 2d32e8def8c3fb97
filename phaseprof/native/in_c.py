"""The walk by place through the extension: what it is given, and what its answer means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from phaseprof.native.array_layout import array_type
from phaseprof.native.extension import CONTAINERS, Extension, addresses, limit_or_none
from phaseprof.native.kinds import TRUSTED
from phaseprof.native.paths import steps_to
from phaseprof.native.roots import module_namespaces, place_of
from phaseprof.native.table import FRAME, MODULE, NAMED, OUTSIDE, UNREACHABLE, PathStep, PlaceTable, Root
from phaseprof.probes import own, tensors
from phaseprof.probes.held import held_where_needed
from phaseprof.probes.libraries import installed_packages
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ENDS = (Root(OUTSIDE), Root(UNREACHABLE))
_Names = list[tuple[int, str]]  # places and names of roots
_ROOT = -1  # number of the type of a row that is a root


def read(
    module: Extension, named: Mapping[str, object] | None, *, libraries: bool, limit_s: float | None
) -> PlaceTable:
    """Read the heap by place; see ``places.read_places``."""
    import numpy as np

    answer, roots, sizes = _walk_and_measure(module, named, libraries, limit_s)
    columns = cast("tuple[bytes, ...]", answer[:5])
    place, parent, kind, number, own_bytes = (np.frombuffer(column, np.int64) for column in columns)
    names, _, rows, n_met, is_partial = cast("tuple[list[str], list[object], bytes, int, int]", answer[5:])
    own_bytes, n_graph = own_bytes.copy(), np.zeros(len(place), np.int64)
    if sizes:
        at = np.frombuffer(rows, np.uint32)
        np.add.at(own_bytes, at, np.array([size for size, _ in sizes], np.int64))
        np.add.at(n_graph, at, np.array([has_graph for _, has_graph in sizes], np.int64))
    found = place[kind == _ROOT].view(np.uint64).tolist()
    types, type_index = _types(kind, names, [roots[p].kind for p in found])
    return PlaceTable(
        place=place.view(np.uint64),
        parent=parent.view(np.uint64),
        type_index=type_index,
        n_objects=number,
        own_bytes=own_bytes,
        n_graph=n_graph,
        types=types,
        roots={p: roots[p] for p in found},
        n_met=n_met,
        partial=bool(is_partial),
    )


@held_where_needed
def _walk_and_measure(
    module: Extension, named: Mapping[str, object] | None, libraries: bool, limit_s: float | None
) -> tuple[tuple[object, ...], dict[int, Root], list[tuple[int, bool]]]:
    """Hold the interpreter while tensors are at hand, and no longer: numpy lets other threads run."""
    answer, roots = _walk(module, named, libraries, limit_s, None)
    measured = cast("list[object]", answer[6])
    try:
        return answer, roots, tensors.measure_each(measured)
    finally:
        measured.clear()


@uninterrupted
def resolve(
    module: Extension,
    named: Mapping[str, object] | None,
    wanted: Collection[int],
    *,
    libraries: bool,
    limit_s: float | None,
) -> dict[int, tuple[PathStep, ...]]:
    """Say how to get to places; see ``places.resolve``.  What lies on a path is put into words uninterrupted."""
    answer, roots = _walk(module, named, libraries, limit_s, addresses(wanted))
    found = cast("list[tuple[int, int, list[tuple[object, object]]]]", answer)
    try:
        return {place: steps_to(roots[root], links) for place, root, links in found}
    finally:
        found.clear()


@uninterrupted
def members(
    module: Extension,
    named: Mapping[str, object] | None,
    wanted: Sequence[int],
    *,
    libraries: bool,
    most: int,
    limit_s: float | None,
) -> tuple[list[Any], NDArray[np.uint64], dict[int, int]]:
    """Hand out what lies at places; see ``places.members``."""
    import numpy as np

    answer, _ = _walk(module, named, libraries, limit_s, addresses(wanted), most)
    found, numbers, n_met = cast("tuple[list[Any], bytes, list[int]]", answer)
    homes = np.array(wanted, np.uint64)[np.frombuffer(numbers, np.uint32)]
    return found, homes, dict(zip(wanted, n_met, strict=True))


def _walk(
    module: Extension,
    named: Mapping[str, object] | None,
    libraries: bool,
    limit_s: float | None,
    wanted: bytes | None,
    members: int = 0,
) -> tuple[tuple[object, ...], dict[int, Root]]:
    """Return what the extension says, and the roots by place."""
    roots = {} if named is None else {place_of(NAMED, name): Root(NAMED, name) for name in named}
    objects = [] if named is None else list(named.values())
    skip = [*own.own_ids(), id(objects), id(roots), *(() if named is None else module_namespaces())]
    packages = installed_packages() if named is None else None
    starts = (objects, addresses(roots), packages, not libraries, own.FOLDERS, addresses(skip))
    types = (CONTAINERS, array_type(), tensors.measured_bases(), TRUSTED)
    ends = addresses(place_of(*root) for root in _ENDS) if named is None else b""
    del skip
    try:
        answer = module.places(*starts, *types, ends, limit_or_none(limit_s), wanted, members)
    finally:
        objects.clear()
    if named is not None:
        return answer, roots
    found, modules, frames = cast("tuple[tuple[object, ...], _Names, _Names]", answer)
    roots.update((place, Root(MODULE, name)) for place, name in modules)
    roots.update((place_of(*root), root) for root in _ENDS)
    roots.update((place, Root(FRAME, name)) for place, name in frames)
    return found, roots


def _types(kind: NDArray[np.int64], names: list[str], of_roots: list[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Number the names of types: several types may have one name, and a root has that of its kind."""
    import numpy as np

    numbers: dict[str, int] = {}
    by_kind = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
    index = by_kind[np.maximum(kind, 0)] if len(names) else np.zeros(len(kind), np.int32)
    index[kind == _ROOT] = [numbers.setdefault(name, len(numbers)) for name in of_roots]
    return tuple(numbers), index
