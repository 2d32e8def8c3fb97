"""The heap as a tree that a person can read: the few places that hold most of it, and what came at each.

A table by place has some ten thousand rows.  Those that hold a visible share of all bytes, or of those that came since
an earlier look, are a hundred; what lies below any other is counted to the nearest one above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaseprof.diagnosis.charging import Kept
from phaseprof.native.table import PlaceTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A part of a picture that is narrower than this share of it has no room for a letter.
_LEAST_SHARE = 0.004
MOST_NODES = 100
WHOLE = "heap"


@dataclass(frozen=True)
class HeapNode:
    """One place with all that lies below it.

    Attributes:
        place: as in the table; 0 for the heap as a whole, which is the first node.
        parent: position of the place above in the list of nodes; -1 for the first.
        type_name: of what lies there; of a root its kind.
        n_objects: objects at the place itself.
        n_bytes: bytes there and below.
        came_bytes: bytes that came there and below since the earlier look; what went elsewhere is not taken off, so
            the parts of a node add up to at most the node.
    """

    place: int
    parent: int
    type_name: str
    n_objects: int
    n_bytes: int
    came_bytes: int


def heap_tree(before: Kept | None, table: PlaceTable, *, most: int = MOST_NODES) -> list[HeapNode]:
    """Return the whole heap and the places that hold most of it, a parent before its children.

    Args:
        before: what was kept of an earlier table of the process; ``None``: nothing came.
        table: the newer one.
        most: nodes at most that are chosen for what they hold, and as many for what came.

    Cost: 1 µs a row.
    """
    import numpy as np

    if not len(table):
        return []
    parents = _parent_rows(table)
    levels = _levels(parents)
    held = _with_below(table.own_bytes, parents, levels)
    came = _with_below(_came(before, table), parents, levels)
    all_held, all_came = int(table.own_bytes.sum()), int(came[parents < 0].sum())
    whole = HeapNode(0, -1, WHOLE, int(table.n_objects.sum()), all_held, all_came)
    chosen = np.flatnonzero(_largest(held, all_held, most) | _largest(came, all_came, most))
    at = {row: position for position, row in enumerate(chosen.tolist(), 1)}
    return [
        whole,
        *(HeapNode(
            place=int(table.place[row]), parent=at.get(int(parents[row]), 0),
            type_name=table.types[table.type_index[row]], n_objects=int(table.n_objects[row]),
            n_bytes=int(held[row]), came_bytes=int(came[row]),
        )
        for row in chosen.tolist()),
    ]  # fmt: skip


def _parent_rows(table: PlaceTable) -> NDArray[np.int64]:
    import numpy as np

    order = np.argsort(table.place)
    ordered = table.place[order]
    at = np.minimum(np.searchsorted(ordered, table.parent), len(ordered) - 1)
    return np.where(ordered[at] == table.parent, order[at], -1).astype(np.int64)


def _came(before: Kept | None, table: PlaceTable) -> NDArray[np.int64]:
    import numpy as np

    if before is None:
        return np.zeros(len(table), np.int64)
    old = before.read()
    order = np.argsort(old.places[0])
    ordered = old.places[0][order]
    at = np.minimum(np.searchsorted(ordered, table.place), len(ordered) - 1)
    was = np.where(ordered[at] == table.place, old.numbers[1][order[at]], 0)
    return np.maximum(table.own_bytes - was, 0)


def _levels(parents: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows level by level, roots first."""
    import numpy as np

    depth = np.where(parents < 0, 0, -1)
    rest, level = np.flatnonzero(parents >= 0), 0
    while len(rest):
        is_next = depth[parents[rest]] == level
        level += 1
        depth[rest[is_next]] = level
        rest = rest[~is_next] if is_next.any() else rest[:0]
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


def _with_below(
    own: NDArray[np.int64], parents: NDArray[np.int64], levels: list[NDArray[np.int64]]
) -> NDArray[np.int64]:
    import numpy as np

    total = own.copy()
    for rows in reversed(levels[1:]):
        np.add.at(total, parents[rows], total[rows])
    return total


def _largest(sizes: NDArray[np.int64], whole: int, most: int) -> NDArray[np.bool_]:
    """Choose rows of a visible share; with each the one above it, which is no smaller and stands before it."""
    import numpy as np

    chosen = np.argsort(-sizes, kind="stable")[:most]
    is_chosen = np.zeros(len(sizes), np.bool_)
    is_chosen[chosen[sizes[chosen] >= max(1.0, _LEAST_SHARE * whole)]] = True
    return is_chosen
