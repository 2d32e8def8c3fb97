"""Growth by place: each byte that came between two looks at the heap is charged once, to where it is kept.

What grew is charged to the nearest place above that did not grow in number.  Of 16 agents whose histories grow these
are the histories; environments that pile up are charged to the list that holds them, with all that they hold; an array
that is made anew and larger each time is charged to itself, at the attribute that names it.  So shares add up, and
nothing needs to be merged afterwards.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaseprof.native.table import FRAME, MODULE, OUTSIDE, UNREACHABLE, PlaceTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Types of what grew at a place of which the names are kept: the heaviest.
MOST_TYPES = 6
# The same of what waits for the collector: what makes the rings is small beside what hangs from them.
MOST_WAITING = 24
# Steps up a path that are followed; one that is longer ends there.
_DEEPEST = 200
_NOWHERE = -1
# The place to which modules are charged that pile up: in the tables each is a root.
PILE_OF_MODULES = 0
# Roots that are none of Python's.
_APART = {OUTSIDE: 1, UNREACHABLE: 2}


@dataclass(frozen=True)
class Part:
    """What came of one type: objects of it, and bytes, of theirs alone or with what they hold."""

    type_name: str
    n_objects: int
    n_bytes: int


@dataclass(frozen=True)
class Growth:
    """What came between two looks at a place and below it.

    Attributes:
        place: as in the tables.
        type_name: of what lies at the place.
        n_places: objects that lie there; as many as before.
        n_bytes: bytes that came, all told; each is charged to one place only.
        n_graph: tensors with a graph that came.
        direct: what came directly in it, with all that it holds, the heaviest first.
        inside: what came anywhere below it, by type, the heaviest first.
    """

    place: int
    type_name: str
    n_places: int
    n_bytes: int
    n_graph: int
    direct: tuple[Part, ...]
    inside: tuple[Part, ...]


class Kept:
    """The numbers of a table that a later one is compared with, in pages of their own.

    What is kept for long must not show in what is judged: neither of the allocators knows these pages, and no
    array lives on them but while they are read.

    Args:
        table: to be kept.
    """

    def __init__(self, table: PlaceTable) -> None:
        self._n = len(table)
        self._pages = mmap.mmap(-1, max(1, 5 * 8 * self._n))
        before = self.read()
        before.places[:] = table.place, table.parent
        before.numbers[:] = table.n_objects, table.own_bytes, table.n_graph

    @property
    def address(self) -> int:
        """Where its pages begin."""
        import numpy as np

        return int(np.frombuffer(self._pages, np.uint8).__array_interface__["data"][0])

    def read(self) -> Before:
        """Return the numbers, as arrays on the pages."""
        import numpy as np

        places = np.frombuffer(self._pages, np.uint64, 2 * self._n).reshape(2, self._n)
        numbers = np.frombuffer(self._pages, np.int64, 3 * self._n, offset=2 * 8 * self._n).reshape(3, self._n)
        return Before(places, numbers)


@dataclass(frozen=True)
class Before:
    """The older of two looks.

    Attributes:
        places: (2, n) place and parent of each row.
        numbers: (3, n) objects, own bytes, and tensors with a graph.
    """

    places: NDArray[np.uint64]
    numbers: NDArray[np.int64]


def seen_once(table: PlaceTable) -> Before:
    """Return what a single look is compared with: one object at each place, so that the rest goes to what holds it.

    Example: 30 arrays in one list are charged to the list, and so is what they hold.  Nothing shows that they grew.
    Modules are left out: what lies directly in one is code.
    """
    import numpy as np

    modules = [place for place, root in table.roots.items() if root.kind == MODULE]
    rows = np.flatnonzero((table.parent != 0) | ~_is_one_of(table.place, modules))
    objects = np.minimum(table.n_objects[rows], 1)
    places = np.stack((table.place[rows], table.parent[rows]))
    return Before(places, np.stack((objects, np.zeros_like(objects), np.zeros_like(objects))))


def _is_one_of(places: NDArray[np.uint64], wanted: Sequence[int]) -> NDArray[np.bool_]:
    """Return for each place whether it is wanted; numpy's own test would import more of numpy in a program's run."""
    import numpy as np

    ordered = np.sort(np.array(wanted, np.uint64))
    at = np.minimum(np.searchsorted(ordered, places), max(0, len(ordered) - 1))
    return ordered[at] == places if len(ordered) else np.zeros(len(places), np.bool_)


@dataclass(frozen=True)
class Waiting:
    """What waits for the collector: rings that no root reaches.

    Attributes:
        parts: by type, the heaviest first.
        n_rings: how many it is: what one holds is part of it.
        n_objects, n_bytes: of all types.
    """

    parts: tuple[Part, ...]
    n_rings: int
    n_objects: int
    n_bytes: int


def waiting(table: PlaceTable) -> Waiting:
    """Return what waits for the collector."""
    import numpy as np

    rows = np.flatnonzero(_apart(table) == _APART[UNREACHABLE])
    rows = rows[table.parent[rows] != 0]
    objects, sizes = table.n_objects[rows], table.own_bytes[rows]
    roots = [place for place, root in table.roots.items() if root.kind == UNREACHABLE]
    n_rings = int(objects[_is_one_of(table.parent[rows], roots)].sum())
    parts = _parts(table, rows, objects, sizes, most=MOST_WAITING)
    return Waiting(parts, n_rings, int(objects.sum()), int(sizes.sum()))


def bytes_of(table: PlaceTable, type_name: str) -> int:
    """Return the bytes of all objects of a type, with what only they own."""
    numbers = [n for n, name in enumerate(table.types) if name == type_name]
    return sum(int(table.own_bytes[table.type_index == n].sum()) for n in numbers)


def keeper_of_graphs(table: PlaceTable) -> int | None:
    """Return the place that a root of Python reaches where most tensors with an autograd graph lie; ``None``: nowhere.

    What a graph has saved in C++ no path reaches: it hangs from such a tensor.
    """
    import numpy as np

    graphs = np.where(_apart(table) == 0, table.n_graph, 0)
    return int(table.place[graphs.argmax()]) if len(graphs) and graphs.max() > 0 else None


def _apart(table: PlaceTable) -> NDArray[np.int64]:
    """Return for each row by which root it is reached: 0 for one of Python, else its number in ``_APART``."""
    import numpy as np

    if not len(table):
        return np.zeros(0, np.int64)
    order = np.argsort(table.place)
    above = order[np.minimum(np.searchsorted(table.place[order], table.parent), len(table) - 1)]
    tops = np.where(table.place[above] == table.parent, above, np.arange(len(table)))
    for _ in range(_DEEPEST):  # each time twice as far up
        if np.array_equal(tops, tops[tops]):
            break
        tops = tops[tops]
    kinds = np.zeros(len(table), np.int64)
    for row in np.flatnonzero(table.parent == 0).tolist():
        kinds[row] = _APART.get(table.roots[int(table.place[row])].kind, 0)
    return kinds[tops]


def charge(
    before: Kept | Before, after: PlaceTable, *, least_bytes: int, most: int,
    is_own: Callable[[str], bool] | None = None,
) -> list[Growth]:  # fmt: skip
    """Charge what came between two looks of one process to places, the heaviest first.

    Args:
        before: what was kept of the older table; or ``seen_once``, where there is none.
        after: the newer one.
        least_bytes: places at which less came are left out.
        most: places that are kept.
        is_own: tells by its name whether a module is the program's.  What modules of its own bring that were not there
            at the older look is then charged to ``sys.modules`` together, at the place ``PILE_OF_MODULES``.

    Cost: 0.3 µs a row.
    """
    import numpy as np

    rows = _Rows(before.read() if isinstance(before, Kept) else before, after)
    sums = np.bincount(rows.homes, weights=rows.bytes, minlength=len(after)) - rows.lost()
    imported = rows.imported()
    own = [row for row in imported if is_own is not None and is_own(after.roots[int(after.place[row])].name)]
    pile = [_pile(rows, own)] if len(own) > 1 else []
    sums[imported] = 0.0
    chosen = np.argsort(-sums)[:most].tolist()
    grown = [*pile, *(_growth(rows, row, float(sums[row])) for row in chosen)]
    return sorted((one for one in grown if one.n_bytes >= least_bytes), key=lambda one: -one.n_bytes)[:most]


class _Rows:
    """The rows of the newer table: what came at each, and the row that it is charged to.

    Attributes:
        objects, bytes, graphs: (n,) what came.
        parents: (n,) row of the place above; -1 for a root.
        homes: (n,) the row that each is charged to.
    """

    def __init__(self, before: Before, after: PlaceTable) -> None:
        import numpy as np

        self.before, self.after = before, after
        self._order = np.argsort(after.place)
        self._sorted = after.place[self._order]
        old = self._find(before.places[0])
        self._is_kept = old != _NOWHERE
        kept = old[self._is_kept]
        self.objects, self.bytes, self.graphs = after.n_objects.copy(), after.own_bytes.copy(), after.n_graph.copy()
        for column, was in zip((self.objects, self.bytes, self.graphs), before.numbers, strict=True):
            column[kept] -= was[self._is_kept]
        self.parents = self._find(after.parent)
        self.homes = self._homes()

    def _find(self, places: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each place in the newer table, -1 where it is not there."""
        import numpy as np

        at = np.minimum(np.searchsorted(self._sorted, places), len(self._sorted) - 1)
        return np.where(self._sorted[at] == places, self._order[at], _NOWHERE)

    def _are_chains(self) -> NDArray[np.bool_]:
        """Return for each row whether it is a chain that hangs from one name: of a frame, or of a module.

        A name refers to one object, so that what comes to its place beyond that hangs from the object before it.
        Example: each handler of a signal is a closure over the one before.
        """
        namespaces = [place for place, root in self.after.roots.items() if root.kind in (FRAME, MODULE)]
        is_named = _is_one_of(self.after.parent, namespaces)
        found: NDArray[np.bool_] = is_named & (self.after.n_objects > 1) & (self.after.n_objects[self.parents] == 1)
        return found

    def _homes(self) -> NDArray[np.int64]:
        import numpy as np

        itself = np.arange(len(self.parents))
        apart = [place for place, root in self.after.roots.items() if root.kind in _APART]
        is_apart = _is_one_of(self.after.parent, apart)
        goes_up = (self.objects > 0) & (self.parents != _NOWHERE) & ~is_apart & ~self._are_chains()
        homes = np.where(goes_up, self.parents, itself)
        while True:  # each time twice as far up
            further = homes[homes]
            if np.array_equal(further, homes):
                return homes
            homes = further

    def imported(self) -> list[int]:
        """Return the rows of modules that were not there at the older look: what an import brings, it brings once."""
        import numpy as np

        roots = np.flatnonzero(self.after.parent == 0).tolist()
        modules = {place for place, root in self.after.roots.items() if root.kind == MODULE}
        modules -= set(self.before.places[0].tolist())  # numpy's own test would import more of numpy
        return [row for row in roots if int(self.after.place[row]) in modules]

    def lost(self) -> NDArray[np.float64]:
        """Return for each row the bytes that lay below it at places where nothing lies any more."""
        import numpy as np

        lost = np.flatnonzero(~self._is_kept)
        places, parents = self.before.places
        at = parents[lost]
        order = np.argsort(places)
        old = places[order]
        rows = self._find(at)
        for _ in range(_DEEPEST):
            gone = np.flatnonzero((rows == _NOWHERE) & (at != 0))
            if not len(gone):
                break
            above = np.minimum(np.searchsorted(old, at[gone]), len(old) - 1)
            at[gone] = np.where(old[above] == at[gone], parents[order[above]], 0)
            rows[gone] = self._find(at[gone])
        found = rows != _NOWHERE
        weights = self.before.numbers[1][lost[found]].astype(np.float64)
        return np.bincount(self.homes[rows[found]], weights=weights, minlength=len(self.after)).astype(np.float64)

    def direct(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row the one on the way up that lies directly in its home; its home for that itself."""
        import numpy as np

        heads = rows.copy()
        for _ in range(_DEEPEST):
            above = self.parents[heads]
            is_on_the_way = (heads != self.homes[rows]) & (above != self.homes[rows])
            if not is_on_the_way.any():
                break
            heads = np.where(is_on_the_way, above, heads)
        return heads


def _growth(rows: _Rows, home: int, n_bytes: float) -> Growth:
    import numpy as np

    beneath = np.flatnonzero(rows.homes == home)
    came = beneath[(rows.bytes[beneath] != 0) | (rows.objects[beneath] > 0)]
    heads = rows.direct(came)
    is_in = came != home
    table, objects, sizes = rows.after, rows.objects[came], rows.bytes[came]
    of_heads = np.where(heads == came, objects, 0)
    return Growth(
        place=int(table.place[home]),
        type_name=table.types[table.type_index[home]],
        n_places=int(table.n_objects[home]),
        n_bytes=round(n_bytes),
        n_graph=int(rows.graphs[beneath].sum()),
        direct=_parts(table, heads[is_in], of_heads[is_in], sizes[is_in]),
        inside=_parts(table, came, objects, sizes),
    )


def _pile(rows: _Rows, modules: Sequence[int]) -> Growth:
    """What came with modules that were made one after another, as programs do that write code and import it."""
    import numpy as np

    is_pile = np.zeros(len(rows.homes), np.bool_)
    is_pile[modules] = True
    came = np.flatnonzero(is_pile[rows.homes])
    n_bytes = int(rows.bytes[came].sum())
    inside = _parts(rows.after, came, rows.objects[came], rows.bytes[came])
    direct = (Part("module", len(modules), n_bytes),)
    return Growth(PILE_OF_MODULES, "dict", 1, n_bytes, int(rows.graphs[came].sum()), direct, inside)


def _parts(
    table: PlaceTable,
    rows: NDArray[np.int64],
    objects: NDArray[np.int64],
    sizes: NDArray[np.int64],
    *,
    most: int = MOST_TYPES,
) -> tuple[Part, ...]:
    """Sum by the type of each row; so many of the types, the heaviest."""
    import numpy as np

    counts = np.bincount(table.type_index[rows], weights=objects).tolist()
    totals = np.bincount(table.type_index[rows], weights=sizes).tolist()
    parts = [
        Part(table.types[kind], round(n), round(size))
        for kind, (n, size) in enumerate(zip(counts, totals, strict=True))
        if n > 0 or size > 0
    ]
    return tuple(sorted(parts, key=lambda part: (-part.n_bytes, -part.n_objects, part.type_name))[:most])
