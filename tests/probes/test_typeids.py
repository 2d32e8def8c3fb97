"""Types as numbers: what numpy's passes find must be what a loop in Python finds, and nobody's code may run."""

from __future__ import annotations

import weakref
from collections import Counter

import hostile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.probes import typeids
from phaseprof.probes.typeids import TypeFilter, sift, tally_ids, type_ids

KINDS = [type(f"Kind{number}", (), {}) for number in range(20)]
numbers = st.lists(st.integers(0, len(KINDS) - 1), max_size=200)
wanted = st.sets(st.integers(0, len(KINDS) - 1))


def make(chosen: list[int]) -> list[object]:
    return [KINDS[number]() for number in chosen]


def expected(objects: list[object], kinds: list[type]) -> list[object]:
    return [o for o in objects if type(o) in kinds]


@given(numbers)
def test_ids_are_those_of_exact_types(chosen: list[int]) -> None:
    objects = make(chosen)

    assert type_ids(objects).tolist() == [id(type(o)) for o in objects]


@given(numbers)
def test_ids_are_counted_by_type(chosen: list[int]) -> None:
    objects = make(chosen)

    assert dict(tally_ids(type_ids(objects))) == Counter(map(type, objects))


@given(numbers, wanted)
def test_a_filter_picks_what_a_loop_picks(chosen: list[int], which: set[int]) -> None:
    """Short and long lists, few and many classes take different ways."""
    objects, kinds = make(chosen), [KINDS[number] for number in which]

    assert TypeFilter(kinds).pick(objects) == expected(objects, kinds)
    assert TypeFilter(kinds).pick(objects, type_ids(objects)) == expected(objects, kinds)


@settings(max_examples=30)
@given(numbers, wanted, wanted, st.integers(1, 50))
def test_sifting_counts_and_keeps_in_order(chosen: list[int], one: set[int], other: set[int], chunk: int) -> None:
    objects = make(chosen)
    everything = list(objects)
    groups = [[KINDS[number] for number in which] for which in (one, other)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typeids, "CHUNK", chunk)
        tally, kept = sift(objects, *groups)

    assert objects == []
    assert dict(tally) == Counter(map(type, everything))
    assert kept == [expected(everything, group) for group in groups]


def test_a_class_lives_as_long_as_its_count_is_needed() -> None:
    """The list held the last instance, the instance the last reference to its class."""
    objects: list[object] = [type("Passing", (), {"__slots__": ("__weakref__",)})() for _ in range(5000)]
    seen = weakref.ref(objects[0])

    tally, _ = sift(objects)

    assert seen() is None
    assert [cls.__name__ for cls, _ in tally] == ["Passing"] * 5000
    assert {count for _, count in tally} == {1}


def test_a_filter_holds_the_classes_it_knows_by_address() -> None:
    picks = TypeFilter([type("Passing", (), {})])

    others = [type("Other", (), {})() for _ in range(1000)]

    assert picks.pick(others) == []


def test_no_code_of_a_metaclass_runs() -> None:
    cls = hostile.hostile_class()
    objects: list[object] = [cls() for _ in range(100)]
    hostile.calls.clear()

    assert len(TypeFilter([cls]).pick(objects)) == 100
    tally, (kept,) = sift(objects, [cls])

    assert [count for _, count in tally] == [100]
    assert len(kept) == 100
    assert hostile.calls == []
