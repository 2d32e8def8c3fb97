"""The heap by place: how many objects and bytes lie where, and by which path one gets there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from phaseprof.native import in_c
from phaseprof.native.extension import extension
from phaseprof.native.kinds import Kinds
from phaseprof.native.paths import steps_to
from phaseprof.native.reference import Node, Sample, Walk, links_between
from phaseprof.native.roots import Starts, find_starts
from phaseprof.native.table import PathStep, PlaceTable, Root
from phaseprof.probes import tensors
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PathStep", "PlaceTable", "Root", "members", "read_places", "resolve"]


def read_places(
    roots: Mapping[str, object] | None = None, *, libraries: bool = True, limit_s: float | None = None
) -> PlaceTable:
    """Walk the whole heap, tracked or not, and sum it by place.

    Args:
        roots: name -> object from which to walk; what they do not reach is then left out, and so are classes and
            modules, which lead everywhere.  ``None``: the program's modules, then the locals of running functions,
            each whole before the next, outermost first; then the modules of libraries; then what C holds, under the
            root ``outside Python``, and last what only rings hold, under ``unreachable``.  The profiler's own
            recordings are left out.
        libraries: ``False`` leaves out what only the modules and classes of Python and of installed packages hold, and
            what is outside Python or unreachable: what is left takes a tenth of the time beside a large library.
        limit_s: end after this many seconds of the thread's processor time with what was met so far, marked
            ``partial``.

    Cost: in C 0.1 µs for each object met, in Python 5; 1.5 µs a tensor.  Nothing is kept; memory of 10 bytes an object
    while it runs in C, of 300 in Python.
    """
    module = extension()
    if module is None:
        return _read_in_python(roots, libraries, limit_s)
    return in_c.read(module, roots, libraries=libraries, limit_s=limit_s)


def resolve(
    places: Collection[int] | np.ndarray,
    roots: Mapping[str, object] | None = None,
    *,
    libraries: bool = True,
    limit_s: float | None = None,
) -> dict[int, tuple[PathStep, ...]]:
    """Say how to get to one object at each place, in one more walk.

    Args:
        places: of a table that was read in this process with the same roots.
        roots: as given to ``read_places``.
        libraries: as given to ``read_places``.
        limit_s: end after this many seconds of the thread's processor time with what was found so far.

    Returns:
        place -> the steps from the root to one object there, the one with the most own bytes.  Places at which nothing
        lies any more are missing.

    Cost: that of ``read_places``.  Nothing is kept.
    """
    wanted = {int(place) for place in places}
    module = extension()
    if module is None:
        return _resolve_in_python(roots, wanted, libraries, limit_s)
    return in_c.resolve(module, roots, wanted, libraries=libraries, limit_s=limit_s)


def members(
    places: Collection[int],
    roots: Mapping[str, object] | None = None,
    *,
    libraries: bool = True,
    most: int = 1 << 20,
    limit_s: float | None = None,
) -> tuple[list[Any], NDArray[np.uint64], dict[int, int]]:
    """Hand out the objects that lie at places and below them; the caller is uninterrupted, and drops them at once.

    Args:
        places: of a table that was read in this process with the same roots.
        roots: as given to ``read_places``.
        libraries: as given to ``read_places``.
        most: about as many objects are handed out of one place, of more a half, or a half of those: by their addresses.
        limit_s: end after this many seconds of the thread's processor time with what was met so far.

    Returns:
        The objects, the place of each, which is the nearest above it, or its own, and how many lie at each place.
        Text and numbers count with what holds them, so they lie where that does.

    Cost: that of ``read_places``.
    """
    wanted = sorted({int(place) for place in places})
    module = extension()
    if module is None:
        return _members_in_python(roots, set(wanted), libraries, most, limit_s)
    return in_c.members(module, roots, wanted, libraries=libraries, most=most, limit_s=limit_s)


@uninterrupted
def _read_in_python(roots: Mapping[str, object] | None, libraries: bool, limit_s: float | None) -> PlaceTable:
    starts = find_starts(roots, libraries=libraries)
    walk = Walk(_kinds(starts), limit_s=limit_s)
    try:
        walk.run(starts)
        _add_storages(walk)
    finally:
        walk.close()
        starts.clear()
    return walk.rows.table(n_met=walk.n_met, partial=walk.partial)


@uninterrupted
def _resolve_in_python(
    roots: Mapping[str, object] | None, wanted: set[int], libraries: bool, limit_s: float | None
) -> dict[int, tuple[PathStep, ...]]:
    starts = find_starts(roots, libraries=libraries)
    walk = Walk(_kinds(starts), limit_s=limit_s)
    walk.wanted = wanted
    try:
        walk.run(starts)
        return {place: _steps(walk, node) for place, (_, node) in walk.examples.items()}
    finally:
        walk.close()
        starts.clear()


@uninterrupted
def _members_in_python(
    roots: Mapping[str, object] | None, wanted: set[int], libraries: bool, most: int, limit_s: float | None
) -> tuple[list[Any], NDArray[np.uint64], dict[int, int]]:
    import numpy as np

    starts = find_starts(roots, libraries=libraries)
    walk = Walk(_kinds(starts), limit_s=limit_s)
    walk.wanted, walk.members_at_most = wanted, most
    walk.samples = {place: Sample() for place in wanted}
    try:
        walk.run(starts)
        objects = [obj for sample in walk.samples.values() for obj in sample.objects]
        homes = [place for place, sample in walk.samples.items() for _ in sample.objects]
        return objects, np.array(homes, np.uint64), {place: walk.samples[place].n_met for place in wanted}
    finally:
        walk.close()
        starts.clear()


def _kinds(starts: Starts) -> Kinds:
    return Kinds(measured=tensors.measured_bases(), enters_classes=starts.packages is not None)


def _add_storages(walk: Walk) -> None:
    """Add the bytes of torch storages where they were first met."""
    holders = [obj for obj, _ in walk.measured]
    for (_, row), (size, has_graph) in zip(walk.measured, tensors.measure_each(holders), strict=True):
        walk.rows.own_bytes[row] += size
        walk.rows.n_graph[row] += has_graph


def _steps(walk: Walk, node: Node) -> tuple[PathStep, ...]:
    nodes = [node]
    while nodes[-1].parent is not None:
        nodes.append(nodes[-1].parent)
    root = walk.rows.roots[walk.rows.place[nodes[-1].row]]
    return steps_to(root, links_between(nodes[::-1]))
