"""The heap as a tree: the few places that hold most, each with all that lies below it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.diagnosis.charging import Kept
from phaseprof.diagnosis.heap_tree import HeapNode, heap_tree
from phaseprof.native.table import PlaceTable


def table(parents: list[int], own_bytes: list[int]) -> PlaceTable:
    """A table whose n-th row is place n + 1."""
    n = len(parents)
    return PlaceTable(
        place=np.arange(1, n + 1, dtype=np.uint64), parent=np.array(parents, np.uint64),
        type_index=np.zeros(n, np.int32), n_objects=np.ones(n, np.int64), own_bytes=np.array(own_bytes, np.int64),
        n_graph=np.zeros(n, np.int64), types=("list",),
    )  # fmt: skip


def test_a_place_holds_what_lies_below_it() -> None:
    nodes = heap_tree(None, table([0, 1, 2, 1], [1, 10, 100, 1000]))

    found = [(node.parent, node.n_bytes) for node in nodes]
    assert found == [(-1, 1111), (0, 1111), (1, 110), (2, 100), (1, 1000)]


def test_what_came_is_counted_without_what_went() -> None:
    before = Kept(table([0, 1, 1], [10, 50, 500]))

    nodes = heap_tree(before, table([0, 1, 1, 1], [10, 90, 100, 7]))

    assert [node.came_bytes for node in nodes] == [47, 47, 40, 0, 7]


def test_small_places_are_counted_to_the_one_above() -> None:
    nodes = heap_tree(None, table([0, 1, 1], [1_000_000, 900_000, 5]))

    assert [node.place for node in nodes] == [0, 1, 2]
    assert nodes[1].n_bytes == 1_900_005


def test_an_empty_heap_has_no_tree() -> None:
    assert heap_tree(None, table([], [])) == []


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), min_size=1, max_size=60))
def test_parts_never_exceed_the_whole(rows: list[tuple[int, int]]) -> None:
    parents = [at and above % (at + 1) for at, (above, _) in enumerate(rows)]

    nodes = heap_tree(None, table(parents, [size for _, size in rows]), most=20)

    assert nodes[0].n_bytes == sum(size for _, size in rows)
    assert all(node.parent < at for at, node in enumerate(nodes))
    assert all(_sum_of_parts(nodes, at) <= node.n_bytes for at, node in enumerate(nodes))


def _sum_of_parts(nodes: list[HeapNode], at: int) -> int:
    return sum(node.n_bytes for node in nodes if node.parent == at)
