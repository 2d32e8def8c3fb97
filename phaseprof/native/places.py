"""The heap by place: how many objects and bytes lie where, and by which path one gets there."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

from phaseprof.native.kinds import Kinds
from phaseprof.native.paths import steps_to
from phaseprof.native.reference import Node, Start, Walk, links_between
from phaseprof.native.table import FRAME, MODULE, NAMED, PathStep, PlaceTable, Root
from phaseprof.probes import own, tensors

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PathStep", "PlaceTable", "Root", "read_places", "resolve"]

_MAIN = "__main__"
# Long enough for most walks.  A thread that begins to wait meanwhile asks for its turn no sooner than after this.
_SELDOM_S = 1.0
_namespace_of = vars(types.ModuleType)["__dict__"].__get__


def read_places(roots: Mapping[str, object] | None = None, *, limit_s: float | None = None) -> PlaceTable:
    """Walk the whole heap, tracked or not, and sum it by place.

    Args:
        roots: name -> object from which to walk; what they do not reach is then left out, and so are classes and
            modules, which lead everywhere.  ``None``: the modules
            (the program's before the standard library's) and the locals of running functions, outermost first;
            then what C holds, under the root ``outside Python``, and last what only rings hold, under
            ``unreachable``.  The profiler's own recordings are left out.
        limit_s: end after this many seconds with what was met so far, marked ``partial``.

    Cost: 2.5 µs an object, and 1.5 µs a tensor.  Nothing is kept; memory of about 100 bytes an object while it runs.
    """
    walk = Walk(_kinds(roots is None), limit_s=limit_s)
    try:
        with _undisturbed():
            _run(walk, roots)
            _add_storages(walk)
    finally:
        walk.close()
    return walk.rows.table(n_met=walk.n_met, partial=walk.partial)


def resolve(
    places: Collection[int] | np.ndarray, roots: Mapping[str, object] | None = None, *, limit_s: float | None = None
) -> dict[int, tuple[PathStep, ...]]:
    """Say how to get to one object at each place, in one more walk.

    Args:
        places: of a table that was read in this process with the same roots.
        roots: as given to ``read_places``.
        limit_s: end after this many seconds with what was found so far.

    Returns:
        place -> the steps from the root to one object there, the one with the most own bytes.  Places at which nothing
        lies any more are missing.

    Cost: that of ``read_places``.  Nothing is kept.
    """
    walk = Walk(_kinds(roots is None), limit_s=limit_s)
    walk.wanted = {int(place) for place in places}
    try:
        with _undisturbed():
            _run(walk, roots)
            return {place: _steps(walk, node) for place, (_, node) in walk.examples.items()}
    finally:
        walk.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the collector and, as far as Python can, other threads from running in the middle of a walk."""
    interval, was_collecting = sys.getswitchinterval(), gc.isenabled()
    try:
        gc.disable()
        sys.setswitchinterval(_SELDOM_S)
        yield
    finally:
        sys.setswitchinterval(interval)
        if was_collecting:
            gc.enable()


def _run(walk: Walk, roots: Mapping[str, object] | None) -> None:
    frames, ours = _running()
    starts = _starts(roots, frames)
    try:
        walk.skip((*own.own_ids(), *ours, id(ours), id(frames), id(starts), *map(id, starts)))
        if roots is None:
            walk.run_whole(starts)
        else:
            walk.skip(map(id, map(_namespace_of, _modules().values())))
            walk.run(starts)
    finally:
        frames.clear()
        starts.clear()


def _kinds(is_whole: bool) -> Kinds:
    return Kinds(measured=tensors.measured_bases(), enters_classes=is_whole)


def _starts(roots: Mapping[str, object] | None, frames: list[types.FrameType]) -> list[Start]:
    if roots is not None:
        return [Start(Root(NAMED, name), obj) for name, obj in roots.items()]
    ranked: list[list[Start]] = [[], [], []]
    for name, module in _modules().items():
        ranked[_rank(name)].append(Start(Root(MODULE, name), module))
    ranked[0].sort(key=lambda start: start.root.name != _MAIN)
    running = [Start(Root(FRAME, _frame_name(frame)), frame) for frame in frames]
    return [*ranked[0], *running, *ranked[1], *ranked[2]]


def _modules() -> dict[str, types.ModuleType]:
    found = list(sys.modules.items())
    return {name: module for name, module in found if type(name) is str and issubclass(type(module), types.ModuleType)}


def _rank(module: str) -> int:
    """Order modules: a path through the program's own says more than one through the interpreter's registries."""
    top = module.partition(".")[0]
    if top == "phaseprof":
        return 2
    return 1 if top in sys.stdlib_module_names and top != _MAIN else 0


def _running() -> tuple[list[types.FrameType], list[int]]:
    """Return the program's running frames, of each thread outermost first, and the ids of ours.

    Ours must not be listed: a frame that holds itself is a cycle, and keeps every caller's locals.
    """
    found: list[types.FrameType] = []
    ours: list[int] = []
    current = sys._current_frames()
    at: types.FrameType | None = None
    try:
        while current:
            n_before = len(found)
            at = current.popitem()[1]
            while at is not None:
                if own.is_own_frame(at):
                    ours.append(id(at))
                else:
                    found.insert(n_before, at)
                at = at.f_back
        return found, ours
    finally:
        current.clear()
        del at


def _frame_name(frame: types.FrameType) -> str:
    code = frame.f_code
    return f"{PurePath(code.co_filename).name} {getattr(code, 'co_qualname', code.co_name)}()"


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
