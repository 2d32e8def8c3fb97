"""The two ways to walk, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from phaseprof.native.extension import extension, missing_because, passes_in_python
from phaseprof.native.places import PlaceTable, read_places

needs_extension = pytest.mark.skipif(extension() is None, reason=missing_because() or "the extension is there")

# What the walk in Python makes while it walks, and what two walks one after the other see of each other.
MADE_BY_WALKS = ("outside Python", "unreachable")

Row = tuple[int, str, int, int, int]


def rows_of(table: PlaceTable) -> dict[int, Row]:
    """Return place -> (parent, type, number, bytes, graphs)."""
    columns = (table.parent, table.type_index, table.n_objects, table.own_bytes, table.n_graph)
    values = zip(table.place.tolist(), *(column.tolist() for column in columns), strict=True)
    return {place: (parent, table.types[kind], n, size, graph) for place, parent, kind, n, size, graph in values}


def in_both(roots: Mapping[str, object] | None) -> tuple[PlaceTable, PlaceTable]:
    """Walk in C and then in Python."""
    native = read_places(roots)
    with passes_in_python():
        return native, read_places(roots)


def differing(native: PlaceTable, reference: PlaceTable) -> list[tuple[Row | None, Row | None]]:
    """Return the rows that differ, without those that the walks make themselves."""
    left, right = _comparable(native), _comparable(reference)
    return [(left.get(place), right.get(place)) for place in left | right if left.get(place) != right.get(place)]


def _comparable(table: PlaceTable) -> dict[int, Row]:
    rows = rows_of(table)
    kept: dict[int, bool] = {}
    for place, row in rows.items():
        root = table.roots.get(place)
        if root is not None:
            kept[place] = root.kind not in MADE_BY_WALKS and root.name.partition(".")[0] != "phaseprof"
        else:
            kept[place] = kept[row[0]] and not row[1].startswith("phaseprof.")
    return {place: row for place, row in rows.items() if kept[place]}
