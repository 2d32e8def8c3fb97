"""Families of things on small real heaps: who lives, who is picked, and that nobody is held."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from phaseprof.live.families import (
    CounterReader,
    HeapView,
    TypeFamily,
    graph_nodes,
    read_together,
)


class Episode:
    pass


class Replay(Episode):
    pass


@pytest.fixture(autouse=True)
def clean_heap() -> Iterator[None]:
    """Let no collection move objects in the middle of a test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def living(family: TypeFamily, *, young: bool = False) -> dict[int, int]:
    with HeapView([family], young=young) as view:
        return family.identities(view)


# --- types ------------------------------------------------------------------------------------------------------------


def test_instances_of_exactly_these_types_live() -> None:
    kept = [Episode(), Episode(), Replay()]

    assert set(living(TypeFamily("count/user.Episode", [Episode]))) == set(map(id, kept[:2]))
    assert set(living(TypeFamily("count/user.Episode", [Episode, Replay]))) == set(map(id, kept))


def test_the_subject_is_the_short_name() -> None:
    assert TypeFamily("count/user.deep.Episode", []).subject == "Episode"


def test_the_young_are_found_without_the_old() -> None:
    old = Episode()
    gc.collect()
    new = Episode()
    family = TypeFamily("x", [Episode])

    assert set(living(family, young=True)) == {id(new)}
    assert set(living(family)) == {id(old), id(new)}


def test_builtin_types_are_found_too() -> None:
    kept: dict[str, list[int]] = {"a": []}

    assert id(kept) in living(TypeFamily("count/builtins.dict", [dict]))


def test_the_newest_of_those_wanted_are_picked() -> None:
    kept = [Episode() for _ in range(5)]
    family = TypeFamily("x", [Episode])

    with HeapView([family], young=False) as view:
        picked = family.pick(view, set(map(id, kept[:4])), 2)

    assert picked == kept[2:4]


def test_a_type_is_not_kept_alive() -> None:
    def make() -> type:
        return type("Short", (), {})

    made = make()
    family, ref = TypeFamily("x", [made]), weakref.ref(made)

    del made
    gc.collect()

    assert ref() is None
    assert family.live_classes() == []
    assert living(family) == {}


def test_instances_are_not_kept_alive() -> None:
    episode = Episode()
    ref = weakref.ref(episode)
    family = TypeFamily("x", [Episode])
    view = HeapView([family], young=False)
    with view:
        family.identities(view)

    del episode

    assert ref() is None


def test_families_of_one_view_share_its_pass() -> None:
    kept = [Episode(), Replay()]
    families = [TypeFamily("a", [Episode]), TypeFamily("b", [Replay])]

    with HeapView(families, young=False) as view:
        found = [set(family.identities(view)) for family in families]

    assert found == [{id(kept[0])}, {id(kept[1])}]


# --- containers -------------------------------------------------------------------------------------------------------


# --- torch ------------------------------------------------------------------------------------------------------------


def test_torch_nodes_are_counted_once_each() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)
    before = graph_nodes()
    kept = [weight * 2]
    kept.append(kept[0] + 1)

    after = graph_nodes()

    assert after["graph_tensors"] - before["graph_tensors"] == 2
    assert after["graph_nodes"] - before["graph_nodes"] == 3  # mul, add, and the leaf's accumulator


class CountingProbe:
    name = "counting"

    def __init__(self) -> None:
        self.n_read = 0

    def read(self) -> dict[str, float]:
        self.n_read += 1
        return {"first": 1.0, "second": 2.0}

    def close(self) -> None:
        pass


def test_counters_of_one_probe_are_read_at_once() -> None:
    probe, other = CountingProbe(), CountingProbe()
    readers = [CounterReader(probe, "first"), CounterReader(probe, "second"), CounterReader(other, "third")]

    assert read_together([*readers, lambda: 7.0]) == [1.0, 2.0, None, 7.0]
    assert (probe.n_read, other.n_read) == (1, 1)


# --- buffers of Python's own types ------------------------------------------------------------------------------------
