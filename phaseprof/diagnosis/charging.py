"""Growth by place: each byte that came between two looks at the heap is charged once, to where it is kept.

What grew is charged to the nearest place above that did not grow in number.  Of 16 agents whose histories grow these
are the histories; environments that pile up are charged to the list that holds them, with all that they hold; an array
that is made anew and larger each time is charged to itself, at the attribute that names it.  So shares add up, and
nothing needs to be merged afterwards.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaseprof.native.table import MODULE, OUTSIDE, UNREACHABLE, PlaceTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Types of what grew at a place of which the names are kept: the heaviest.
MOST_TYPES = 6
# Steps up a path that are followed; one that is longer ends there.
_DEEPEST = 200
_NOWHERE = -1


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


def charge(before: Kept, after: PlaceTable, *, least_bytes: int, most: int) -> list[Growth]:
    """Charge what came between two looks of one process to places, the heaviest first.

    Args:
        before: what was kept of the older table.
        after: the newer one.
        least_bytes: places at which less came are left out.
        most: places that are kept.

    Cost: 0.3 µs a row.
    """
    import numpy as np

    rows = _Rows(before.read(), after)
    sums = np.bincount(rows.homes, weights=rows.bytes, minlength=len(after)) - rows.lost()
    sums[rows.imported()] = 0.0
    chosen = np.argsort(-sums)[:most].tolist()
    return [_growth(rows, row, float(sums[row])) for row in chosen if sums[row] >= least_bytes]


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

    def _homes(self) -> NDArray[np.int64]:
        import numpy as np

        itself = np.arange(len(self.parents))
        apart = [place for place, root in self.after.roots.items() if root.kind in (OUTSIDE, UNREACHABLE)]
        is_apart = np.isin(self.after.parent, np.array(apart, np.uint64))
        goes_up = (self.objects > 0) & (self.parents != _NOWHERE) & ~is_apart
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


def _parts(
    table: PlaceTable, rows: NDArray[np.int64], objects: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Part, ...]:
    """Sum by the type of each row."""
    import numpy as np

    kinds, at = np.unique(table.type_index[rows], return_inverse=True)
    counts = np.bincount(at, weights=objects, minlength=len(kinds)).tolist()
    totals = np.bincount(at, weights=sizes, minlength=len(kinds)).tolist()
    parts = [
        Part(table.types[kind], round(n), round(size))
        for kind, n, size in zip(kinds.tolist(), counts, totals, strict=True)
        if n > 0 or size > 0
    ]
    return tuple(sorted(parts, key=lambda part: (-part.n_bytes, -part.n_objects, part.type_name))[:MOST_TYPES])
