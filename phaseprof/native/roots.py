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
    """All roots of a walk in order of preference, held until ``clear``.

    Attributes:
        starts: roots and objects.
        frames: the program's running frames.
        skip: ids of what is left out: recordings of ours, and what this walk itself makes.
        is_whole: what none of the roots reaches is wanted too, classes and modules among it.
    """

    starts: list[Start]
    frames: list[types.FrameType]
    skip: list[int]
    is_whole: bool

    def clear(self) -> None:
        """Let go of every object."""
        self.starts.clear()
        self.frames.clear()


def find_starts(roots: Mapping[str, object] | None) -> Starts:
    """Return where to walk from; see ``read_places``.  The caller clears it at once."""
    frames, skip = running_frames()
    starts = _whole_program(frames) if roots is None else [Start(Root(NAMED, name), obj) for name, obj in roots.items()]
    skip += own.own_ids()
    skip += [id(skip), id(frames), id(starts)]
    skip += map(id, starts)
    if roots is not None:
        skip += module_namespaces()
    found = Starts(starts, frames, skip, roots is None)
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


def _whole_program(frames: list[types.FrameType]) -> list[Start]:
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


def _frame_name(frame: types.FrameType) -> str:
    code = frame.f_code
    return f"{PurePath(code.co_filename).name} {getattr(code, 'co_qualname', code.co_name)}()"
