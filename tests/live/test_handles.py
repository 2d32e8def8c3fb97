"""The way back to one container: found again, measured, and never kept alive."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator

import pytest

from phaseprof.live.handles import ContainerHandle


class Owner:
    def __init__(self, kept: object) -> None:
        self.kept = kept


class Slotted:
    __slots__ = ("__weakref__", "kept")

    def __init__(self, kept: object) -> None:
        self.kept = kept


class NotWeak:
    __slots__ = ("kept",)

    def __init__(self, kept: object) -> None:
        self.kept = kept


@pytest.mark.parametrize("kind", [list, dict, set, deque, OrderedDict, defaultdict, Counter])
def test_every_builtin_container_is_found_by_its_owner(kind: type) -> None:
    owner = Owner(kind())
    handle = ContainerHandle(owner.kept)

    assert handle.is_cheap
    assert handle.find() is owner.kept
    assert handle.length() == 0


def test_the_length_is_the_one_it_has_now() -> None:
    owner = Owner([1])
    handle = ContainerHandle(owner.kept)

    owner.kept.extend(range(9))  # type: ignore[attr-defined]

    assert handle.length() == 10


def test_an_owner_whose_dict_was_read_is_an_owner_still() -> None:
    """Python 3.11 and later make the dict when it is asked for, and the attributes move into it."""
    owner = Owner([1, 2])
    handle = ContainerHandle(owner.kept)

    assert vars(owner)["kept"] is handle.find()
    assert [handle.length(), handle.length()] == [2, 2]


def test_slots_own_too() -> None:
    owner = Slotted([1, 2])

    assert ContainerHandle(owner.kept).length() == 2


def test_an_owner_two_containers_away_is_found() -> None:
    owner = Owner({"losses": [[1, 2, 3]]})
    inner = owner.kept["losses"][0]  # type: ignore[index]
    handle = ContainerHandle(inner)
    del inner

    assert handle.is_cheap
    assert handle.length() == 3


def test_a_closure_is_an_owner() -> None:
    kept = [1, 2]

    def remember() -> int:
        return len(kept)

    handle = ContainerHandle(kept)

    assert handle.is_cheap
    assert handle.length() == remember()


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made = types.ModuleType("handles_test_module")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def test_a_module_is_an_owner(module: types.ModuleType) -> None:
    module.kept = [1, 2, 3]  # type: ignore[attr-defined]
    handle = ContainerHandle(module.kept)

    assert handle.is_cheap
    assert handle.length() == 3


def test_the_container_and_its_owner_are_not_kept_alive() -> None:
    owner = Owner({1})
    ref = weakref.ref(owner)
    handle = ContainerHandle(owner.kept)

    del owner

    assert ref() is None
    assert handle.find() is None
    assert handle.length() is None


def test_another_container_in_its_place_is_not_taken_for_it() -> None:
    first: list[int] = [1]
    owner = Owner(first)
    handle = ContainerHandle(first)

    owner.kept = [1, 2]

    assert handle.find() is None
    assert handle.length() is None
    del first


def test_a_container_that_nothing_weak_owns_is_read_by_a_pass_over_the_heap() -> None:
    owner = NotWeak([owner_item := object(), 2, 3])
    handle = ContainerHandle(owner.kept)
    del owner_item

    assert not handle.is_cheap
    assert handle.find() is None
    assert handle.length() == 3


def test_making_a_handle_leaves_nothing_behind() -> None:
    owner = Owner([])
    ContainerHandle(owner.kept)
    gc.collect()
    before = len(gc.get_referrers(owner.kept))

    for _ in range(5):
        ContainerHandle(owner.kept).length()

    assert len(gc.get_referrers(owner.kept)) == before
