"""The two ways to walk, side by side."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from phaseprof.native.extension import extension, missing_because, passes_in_python
from phaseprof.native.places import PlaceTable, read_places

needs_extension = pytest.mark.skipif(extension() is None, reason=missing_because() or "the extension is there")

# What the walk in Python makes while it walks, and where two walks one after the other see each other's answer.
MADE_BY_WALKS = ("outside Python", "unreachable")

Row = tuple[int, str, int, int, int]


class Answer(NamedTuple):
    """A table as plain data: its rows by place, in order, and kind and name of its roots by place."""

    rows: dict[int, Row]
    roots: dict[int, tuple[str, str]]
    n_met: int


def answer_of(table: PlaceTable) -> Answer:
    columns = (table.parent, table.type_index, table.n_objects, table.own_bytes, table.n_graph)
    values = zip(table.place.tolist(), *(column.tolist() for column in columns), strict=True)
    rows = {place: (parent, table.types[kind], n, size, graph) for place, parent, kind, n, size, graph in values}
    return Answer(rows, {place: tuple(root) for place, root in table.roots.items()}, table.n_met)


def in_both(roots: Mapping[str, object] | None) -> tuple[Answer, Answer]:
    """Walk in C and then in Python; the first answer is put away as bytes, so that the second walk does not meet it."""
    native = marshal.dumps(tuple(answer_of(read_places(roots))))
    with passes_in_python():
        reference = answer_of(read_places(roots))
    return Answer(*marshal.loads(native)), reference


def differing(native: Answer, reference: Answer) -> list[tuple[Row | None, Row | None]]:
    """Return the rows that differ, without those that the walks make themselves."""
    left, right = _comparable(native), _comparable(reference)
    return [(left.get(place), right.get(place)) for place in left | right if left.get(place) != right.get(place)]


def _comparable(answer: Answer) -> dict[int, Row]:
    kept: dict[int, bool] = {}
    for place, row in answer.rows.items():
        root = answer.roots.get(place)
        if root is not None:
            kind, name = root
            kept[place] = kind not in MADE_BY_WALKS and name.partition(".")[0] not in ("phaseprof", "languages")
        else:
            kept[place] = kept[row[0]] and not row[1].startswith("phaseprof.")
    return {place: row for place, row in answer.rows.items() if kept[place]}
