"""Passes over types: what they find must be what a loop in Python finds, and nobody's code may run."""

from __future__ import annotations

import weakref
from collections import Counter

import hostile
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.probes.typeids import TypeFilter, sift, tally

KINDS = [type(f"Kind{number}", (), {}) for number in range(20)]
numbers = st.lists(st.integers(0, len(KINDS) - 1), max_size=200)
wanted = st.sets(st.integers(0, len(KINDS) - 1))


def make(chosen: list[int]) -> list[object]:
    return [KINDS[number]() for number in chosen]


def expected(objects: list[object], kinds: list[type]) -> list[object]:
    return [o for o in objects if type(o) in kinds]


@given(numbers)
def test_classes_are_counted(chosen: list[int]) -> None:
    classes = list(map(type, make(chosen)))

    assert dict(tally(classes)) == Counter(classes)


@given(numbers, wanted)
def test_a_filter_picks_what_a_loop_picks(chosen: list[int], which: set[int]) -> None:
    objects, kinds = make(chosen), [KINDS[number] for number in which]

    assert TypeFilter(kinds).pick(objects) == expected(objects, kinds)
    assert TypeFilter(kinds).pick(objects, list(map(type, objects))) == expected(objects, kinds)
    assert TypeFilter(kinds).leave_out(objects) == [o for o in objects if type(o) not in kinds]


@settings(max_examples=30)
@given(numbers, wanted, wanted)
def test_sifting_counts_and_keeps_in_order(chosen: list[int], one: set[int], other: set[int]) -> None:
    objects = make(chosen)
    groups = [[KINDS[number] for number in which] for which in (one, other)]

    counts, kept = sift(objects.copy, *groups)

    assert dict(counts) == Counter(map(type, objects))
    assert kept == [expected(objects, group) for group in groups]


def test_a_class_lives_as_long_as_its_count_is_needed() -> None:
    """The list held the last instance, the instance the last reference to its class."""
    objects: list[object] = [type("Passing", (), {"__slots__": ("__weakref__",)})() for _ in range(5000)]
    seen = weakref.ref(objects[0])

    counts, _ = sift(lambda: [objects.pop() for _ in range(5000)])

    assert seen() is None
    assert [cls.__name__ for cls, _ in counts] == ["Passing"] * 5000
    assert {count for _, count in counts} == {1}


def test_a_filter_holds_the_classes_it_knows_by_address() -> None:
    picks = TypeFilter([type("Passing", (), {})])

    others = [type("Other", (), {})() for _ in range(1000)]

    assert picks.pick(others) == []


def test_no_code_of_a_metaclass_runs() -> None:
    cls = hostile.hostile_class()
    objects: list[object] = [cls() for _ in range(100)]
    hostile.calls.clear()

    assert len(TypeFilter([cls]).pick(objects)) == 100
    counts, (kept,) = sift(objects.copy, [cls])

    assert [count for _, count in counts] == [100]
    assert len(kept) == 100
    assert hostile.calls == []
