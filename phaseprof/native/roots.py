"""Where a walk begins: the modules and the running functions, or what the caller names."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from phaseprof.native.kinds import mixed, text_hash
from phaseprof.native.table import FRAME, MODULE, NAMED, Root
from phaseprof.probes import own
from phaseprof.probes.libraries import installed_packages
from phaseprof.probes.locals import frames_of_failure

_MAIN = "__main__"
# A program has a few thousand modules, and each would cost some microseconds in every walk.
_MOST_PLACES = 1 << 14
_places: dict[str, int] = {}
_namespace_of = vars(types.ModuleType)["__dict__"].__get__


class Start(NamedTuple):
    """A root and its object; of a running function that is the frame, whose locals are followed."""

    root: Root
    obj: object


@dataclass(frozen=True)
class Starts:
    """All roots of a walk, held until ``clear``.

    Attributes:
        groups: roots and objects, in order of preference: of each group all is walked before the next.
        last: those of libraries, walked after what all others reach; empty where they are not wanted.
        frames: the program's running frames.
        skip: ids of what is left out: recordings of ours, and what this walk itself makes.
        put_off: ids of libraries' modules and their namespaces, which the groups do not lead into.
        packages: the names of libraries, whose classes the groups do not lead into; ``None``: the roots were named.
        has_libraries: whether those are wanted, and what no root reaches.
    """

    groups: list[list[Start]]
    last: list[Start]
    frames: list[types.FrameType]
    skip: list[int]
    put_off: list[int]
    packages: frozenset[str] | None
    has_libraries: bool

    def clear(self) -> None:
        """Let go of every object."""
        for group in (*self.groups, self.last):
            group.clear()
        self.frames.clear()


def find_starts(roots: Mapping[str, object] | None, *, libraries: bool = True) -> Starts:
    """Return where to walk from; see ``read_places``.  The caller clears it at once."""
    frames, skip = running_frames()
    groups: list[list[Start]] = []
    last: list[Start] = []
    put_off: list[int] = []
    packages = None
    if roots is None:
        packages = installed_packages()
        program, last = _ranked_modules(packages)
        put_off = [identity for start in last for identity in (id(start.obj), id(_namespace_of(start.obj)))]
        failed = frames_of_failure()
        frames += [frame for frame in failed if not own.is_own_frame(frame)]
        skip += map(id, filter(own.is_own_frame, failed))
        failed.clear()
        groups = [program, *([Start(Root(FRAME, _frame_name(frame)), frame)] for frame in frames)]
    else:
        groups = [[Start(Root(NAMED, name), obj) for name, obj in roots.items()]]
        skip += module_namespaces()
    if not libraries:
        last.clear()
    skip += own.own_ids()
    skip += map(id, (skip, frames, groups, last, put_off, *groups))
    skip += [id(start) for group in (*groups, last) for start in group]
    found = Starts(groups, last, frames, skip, put_off, packages, libraries)
    skip.append(id(found))
    return found


def place_of(kind: str, name: str) -> int:
    """Return the place of a root."""
    text = f"{kind} {name}"
    place = _places.get(text)
    if place is None:
        if len(_places) >= _MOST_PLACES:
            _places.clear()
        place = _places[text] = mixed(text_hash(text))
    return place


def module_namespaces() -> list[int]:
    """Return the ids of the namespaces of all modules."""
    return list(map(id, map(_namespace_of, _modules().values())))


def running_frames() -> tuple[list[types.FrameType], list[int]]:
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
                    found.append(at)
                at = at.f_back
            found[n_before:] = reversed(found[n_before:])
        return found, ours
    finally:
        current.clear()
        del at


def _ranked_modules(packages: frozenset[str]) -> tuple[list[Start], list[Start]]:
    """Return the program's modules, the main one first, and libraries': those come last, and of them ours."""
    ranked: list[list[Start]] = [[], [], [], []]
    for name, module in _modules().items():
        ranked[_rank(name, packages)].append(Start(Root(MODULE, name), module))
    return [*ranked[0], *ranked[1]], [*ranked[2], *ranked[3]]


def _modules() -> dict[str, types.ModuleType]:
    found = list(sys.modules.items())
    return {name: module for name, module in found if type(name) is str and issubclass(type(module), types.ModuleType)}


def _rank(module: str, packages: frozenset[str]) -> int:
    """Order modules: a path through the program's own says more than one through a library's registries."""
    top = module.partition(".")[0]
    if module == _MAIN:
        return 0
    if top == "phaseprof":
        return 3
    return 2 if top in packages and top != _MAIN else 1


def _frame_name(frame: types.FrameType) -> str:
    code = frame.f_code
    return f"{PurePath(code.co_filename).name} {getattr(code, 'co_qualname', code.co_name)}()"
