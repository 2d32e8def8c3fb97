"""Families of things on small real heaps: who lives, who is picked, and that nobody is held."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterator

import pytest

from phaseprof.live.buffers import ArrayFamily, BufferFamily
from phaseprof.live.families import (
    ContainerFamily,
    CounterReader,
    GraphFamily,
    HeapView,
    StorageFamily,
    TypeFamily,
    classes_by_name,
    graph_nodes,
    read_together,
)

np = pytest.importorskip("numpy")


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


def living(family: TypeFamily | ArrayFamily | StorageFamily | GraphFamily, *, young: bool = False) -> dict[int, int]:
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


# --- arrays -----------------------------------------------------------------------------------------------------------


def test_an_array_counts_once_with_its_bytes() -> None:
    before = living(ArrayFamily())
    kept = [np.zeros(1000)]
    views = [kept[0][2:], kept[0].reshape(10, 100)]

    new = {i: size for i, size in living(ArrayFamily()).items() if i not in before}

    assert list(new.values()) == [8000]
    assert len(views) == 2


def test_an_array_in_untracked_tuples_is_found_and_picked() -> None:
    """The collector follows neither arrays nor tuples of plain data: they are reached from what it does follow."""
    kept = {step: (step, np.full(500, step)) for step in range(3)}
    gc.collect()  # which is when tuples and dicts of plain data are untracked
    family = ArrayFamily()
    wanted = {id(array) for _, array in kept.values()}

    with HeapView([family], young=False) as view:
        found = family.identities(view)
        picked = family.pick(view, wanted, 2)

    assert wanted <= set(found)
    assert len(picked) == 2
    assert {id(array) for array in picked} <= wanted


# --- containers -------------------------------------------------------------------------------------------------------


class Owner:
    def __init__(self) -> None:
        self.kept = [object()]


def test_a_container_is_followed_by_length() -> None:
    owner = Owner()
    family = ContainerFamily("container/list@1", "list", id(owner.kept))

    lengths = [family.length(costly=False)]
    owner.kept.append(object())
    lengths.append(family.length(costly=False))

    assert lengths == [1, 2]
    assert family.pick(1) == [owner.kept]


def test_a_container_that_is_gone_has_no_length() -> None:
    owner = Owner()
    family = ContainerFamily("container/list@1", "list", id(owner.kept))
    family.length(costly=True)

    del owner

    assert family.length(costly=True) is None


def test_an_untracked_dict_is_found_too() -> None:
    owner = Owner()
    owner.kept[0] = {"a": 1}
    gc.collect()

    assert ContainerFamily("container/dict@1", "dict", id(owner.kept[0])).length(costly=True) == 1


# --- classes by name --------------------------------------------------------------------------------------------------


def test_a_class_is_found_by_the_name_its_module_shows() -> None:
    name = f"{Episode.__module__}.Episode"

    assert classes_by_name({name}) == {name: [Episode]}


def test_a_class_that_no_module_shows_is_found_in_the_heap() -> None:
    hidden = type("Hidden", (), {"__module__": "nowhere"})
    kept = hidden()

    assert classes_by_name({"nowhere.Hidden"}) == {"nowhere.Hidden": [hidden]}
    assert type(kept) is hidden


def test_two_classes_of_one_name_are_both_found() -> None:
    classes = [type("Config", (), {"__module__": "nowhere"}) for _ in range(2)]
    kept = [cls() for cls in classes]

    assert set(classes_by_name({"nowhere.Config"})["nowhere.Config"]) == set(map(type, kept))


def test_a_module_that_shows_another_class_under_the_name_does_not_mislead() -> None:
    module = types.ModuleType("families_test_module")
    module.Alias = Episode  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    try:
        assert classes_by_name({"families_test_module.Alias"}) == {}
    finally:
        del sys.modules[module.__name__]


def test_builtins_have_no_module_in_their_name() -> None:
    assert classes_by_name({"dict"}) == {"dict": [dict]}


def test_a_name_that_nobody_bears_is_not_found() -> None:
    assert classes_by_name({"nowhere.Nobody"}) == {}


# --- torch ------------------------------------------------------------------------------------------------------------


def test_torch_storages_count_once_with_their_bytes() -> None:
    torch = pytest.importorskip("torch")
    before = living(StorageFamily())
    kept = torch.zeros(1000)
    view = kept[10:]

    new = {address: size for address, size in living(StorageFamily()).items() if address not in before}

    assert new == {kept.untyped_storage()._cdata: 4000}
    assert view.shape == (990,)


def test_torch_a_tensor_is_picked_by_its_storage() -> None:
    torch = pytest.importorskip("torch")
    kept, other = torch.zeros(1000), torch.zeros(1000)
    family = StorageFamily()

    with HeapView([family], young=False) as view:
        picked = family.pick(view, {kept.untyped_storage()._cdata}, 3)

    assert [id(tensor) for tensor in picked] == [id(kept)]
    assert other.shape == kept.shape


def test_torch_graphs_weigh_their_nodes_and_the_largest_comes_last() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)
    small, large = weight * 2, ((weight * 2 + 1) * 3).sum()
    family = GraphFamily()

    with HeapView([family], young=False) as view:
        nodes = family.identities(view)
        picked = family.pick(view, {id(small), id(large)}, 2)

    assert nodes[id(large)] > nodes[id(small)] > 0
    assert [id(tensor) for tensor in picked] == [id(small), id(large)]


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


def test_of_buffers_those_are_followed_that_came_or_grew_since_the_first_look() -> None:
    kept = [bytearray(10_000), bytearray(20_000), bytearray(100)]
    family = BufferFamily("bytearray")
    with HeapView([family], young=False) as view:
        first = family.identities(view)
        kept[1].extend(bytes(50_000))
        kept.append(bytearray(5_000))
        later = family.identities(view)

        assert {id(kept[0]), id(kept[1])} <= first.keys()
        assert id(kept[2]) not in first
        assert later.keys() == {id(kept[1]), id(kept[3])}
        assert later[id(kept[1])] >= 70_000
        assert family.pick(view, {id(kept[3])}, 9) == [kept[3]]


def test_of_bytes_what_was_there_at_the_first_look_is_never_followed() -> None:
    kept = [bytes(10_000)]
    family = BufferFamily("bytes")
    with HeapView([family], young=False) as view:
        assert family.identities(view) == {}
        kept.append(bytes(9_000))
        assert family.identities(view).keys() == {id(kept[1])}
