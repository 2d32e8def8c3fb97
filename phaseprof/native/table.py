"""The heap by place as a table of numbers, and the steps by which a place is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from phaseprof.native.kinds import Kind, child_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How far up the path a chain is looked for that goes on: closures come round every third step.
_LONGEST_PERIOD = 4
# Past this many places a new one is filed with its parent; beside torch there are some ten thousands.
MAX_PLACES = 1 << 18

MODULE, FRAME, NAMED, OUTSIDE, UNREACHABLE = "module", "frame", "named", "outside Python", "unreachable"


class Root(NamedTuple):
    """Where paths begin.

    Attributes:
        kind: ``module``, ``frame`` (a running function), ``named`` (given by the caller), ``outside Python`` (held by
            C) or ``unreachable`` (only a ring holds it).
        name: of the module; of the file and the function, as ``train.py main()``; the caller's.
    """

    kind: str
    name: str = ""


class PathStep(NamedTuple):
    """One object on the path to a place.

    Attributes:
        type: qualified name of the object's type; of the first step the kind of root.
        via: how the object before it refers to it: ``root``, ``attribute``, ``local``, ``key``, ``item`` or
            ``referent``.
        name: of the attribute, local or root; of a key if it is an identifier of at most 40 characters; the index of
            an item; the number of the reference.  ``""`` where there is nothing to say.
        label: name of the class, function or module that the object is, else ``""``.
        bound, length: capacity of a container, as it or its owner declares it, and how many items it has; -1 where it
            has none.
        again: of the last step, the attribute by which the object refers to another of its type; ``""`` without one.
    """

    type: str
    via: str
    name: str = ""
    label: str = ""
    bound: int = -1
    length: int = -1
    again: str = ""


@dataclass(frozen=True)
class PlaceTable:
    """The objects of the heap, summed by place; no address and no reference.

    **A place** is the path by which an object is first reached, breadth first from the roots: a 64-bit number made of
    the parent's place, the position and the type's name.  The position is

    - the name, for an attribute of a module, a class or an instance and for a local of a function, running or waiting
      as a generator or coroutine; the dict of a module, class or instance is part of it, and one of an instance with
      over 1,000 attributes is a dict of items;
    - one and the same for all items of a list, tuple, set, deque and of any other dict, keys among them, and for all
      classes, functions and other descriptors, of which namespaces are full;
    - else which of the references it is (from the 32nd on, one).

    A path that goes on through the same type at the same position as up to four steps above stays at that place: a
    linked list is one place, and so is a chain of closures; of builtin containers and classes it does so only from the
    third level on.  Places compare within a process and those forked from it.

    Rows stand in the order in which their first object was reached: a parent before its children.

    Attributes:
        place: (n,) uint64.
        parent: (n,) uint64; 0 for a root.
        type_index: (n,) int32, index into ``types``.
        n_objects: (n,) int64, objects at the place; numbers, ``None``, code, and strings and bytes of less than 256
            characters are none.
        own_bytes: (n,) int64, bytes of these objects, their headers, the small objects that they hold, each once, and
            of buffers and torch storages that were first met there.  Not what they refer to.
        n_graph: (n,) int64, torch tensors among them that keep an autograd graph.
        types: qualified names of types; of a root its kind.
        roots: place of each root -> which it is.
        n_met: objects met, the small ones included, each once.
        partial: a limit in time ended the walk; rows are then lower bounds, and some are missing.
    """

    place: NDArray[np.uint64]
    parent: NDArray[np.uint64]
    type_index: NDArray[np.int32]
    n_objects: NDArray[np.int64]
    own_bytes: NDArray[np.int64]
    n_graph: NDArray[np.int64]
    types: tuple[str, ...]
    roots: Mapping[int, Root] = field(default_factory=dict)
    n_met: int = 0
    partial: bool = False

    def __len__(self) -> int:
        return len(self.place)


class Rows:
    """Rows under construction: the place of each parent, position and type, and sums."""

    def __init__(self) -> None:
        self.place: list[int] = []
        self.parent: list[int] = []
        self.kind: list[Kind | None] = []
        self.position: list[int] = []
        self.n_objects: list[int] = []
        self.own_bytes: list[int] = []
        self.n_graph: list[int] = []
        self.roots: dict[int, Root] = {}
        self._row_of: dict[int, int] = {}

    def root(self, root: Root, place: int) -> int:
        """Return the row of a root."""
        row = self._row_of.get(place)
        if row is None:
            row = self._row_of[place] = self._add(place, -1, None, 0)
            self.roots[place] = root
        return row

    def child(self, parent: int, position: int, kind: Kind) -> int:
        """Return the row of what lies at a position of another row."""
        place = child_place(self.place[parent], position, kind.hash)
        row = self._row_of.get(place)
        if row is None:
            row = self._chain(parent, position, kind)
            if row is None:
                row = self._add(place, parent, kind, position) if len(self.place) < MAX_PLACES else parent
            self._row_of[place] = row
        return row

    def _add(self, place: int, parent: int, kind: Kind | None, position: int) -> int:
        self.place.append(place)
        self.parent.append(parent)
        self.kind.append(kind)
        self.position.append(position)
        for column in (self.n_objects, self.own_bytes, self.n_graph):
            column.append(0)
        return len(self.place) - 1

    def _chain(self, parent: int, position: int, kind: Kind) -> int | None:
        """Return the row above that a chain goes on from, ``None`` if there is none."""
        above = parent
        for period in range(1, _LONGEST_PERIOD + 1):
            if self.kind[above] is None:
                return None
            if self._is_like(above, position, kind):
                again = self._up(above, period) if kind.is_container else above
                if again is not None and self._is_like(again, position, kind):
                    return above
            above = self.parent[above]
        return None

    def _is_like(self, row: int, position: int, kind: Kind) -> bool:
        found = self.kind[row]
        return found is not None and found.hash == kind.hash and self.position[row] == position

    def _up(self, row: int, steps: int) -> int | None:
        for _ in range(steps):
            row = self.parent[row]
            if row < 0:
                return None
        return row

    def table(self, *, n_met: int, partial: bool) -> PlaceTable:
        """Return the rows as arrays."""
        import numpy as np

        names = [
            self.roots[place].kind if kind is None else kind.name
            for place, kind in zip(self.place, self.kind, strict=True)
        ]
        types = {name: i for i, name in enumerate(dict.fromkeys(names))}
        parents = [0 if row < 0 else self.place[row] for row in self.parent]
        return PlaceTable(
            place=np.array(self.place, np.uint64),
            parent=np.array(parents, np.uint64),
            type_index=np.array([types[name] for name in names], np.int32),
            n_objects=np.array(self.n_objects, np.int64),
            own_bytes=np.array(self.own_bytes, np.int64),
            n_graph=np.array(self.n_graph, np.int64),
            types=tuple(types),
            roots=self.roots,
            n_met=n_met,
            partial=partial,
        )
