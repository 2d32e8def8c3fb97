"""What piles up from call to call, and what does not."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable

import pytest

from phaseprof.errors import UsageError
from phaseprof.live.repetition import Repetition, repeat


class Kept:
    pass


def grown(call: Callable[[], object], **how: float) -> list[tuple[str, float]]:
    outcome = repeat(call, Repetition(**how))  # type: ignore[arg-type]
    return [(one.name, one.per_call) for one in outcome.grown]


def grows_by(items: float, call: Callable[[], object]) -> bool:
    """Whether containers gain so many items a call; asked thrice, since the test runner fills and empties some."""
    return any(("items of a container", items) in grown(call) for _ in range(3))


def test_objects_of_a_type() -> None:
    kept: list[object] = []

    outcome = repeat(lambda: kept.append(Kept()), Repetition())

    assert [(one.name, one.per_call) for one in outcome.grown] == [("Kept", 1.0)]
    assert "Kept" in outcome.grown[0].holder
    assert str(outcome).startswith("Kept: +1 a call; held by ")


@pytest.mark.parametrize("make", [lambda: repr(object()), lambda: 10**6 + id(object()), lambda: bytes(99)])
def test_what_the_collector_does_not_track_shows_in_its_container(make: Callable[[], object]) -> None:
    kept: list[object] = []

    assert grows_by(2.0, lambda: kept.extend([make(), make()]))


def test_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    kept: list[object] = []

    assert grows_by(1.0, lambda: kept.append(numpy.ones(100)))


def test_less_than_one_a_call() -> None:
    kept: list[object] = []
    numbers = itertools.count()

    found = grown(lambda: kept.append(Kept()) if next(numbers) % 4 == 0 else None, repeat=12)

    assert found == [("Kept", 0.25)]


def test_what_is_made_once_is_no_growth() -> None:
    kept: list[object] = []

    assert grown(lambda: kept or kept.extend(Kept() for _ in range(100)), warm_up=0) == []


def test_what_fills_is_no_growth() -> None:
    kept: list[object] = []

    assert grown(lambda: kept.append(Kept()) if len(kept) < 27 else None) == []


def test_growth_that_falls_is_followed_until_it_ends() -> None:
    kept: list[object] = []
    calls = itertools.count(1)

    outcome = repeat(lambda: kept.extend(Kept() for _ in range(40 // next(calls))), Repetition(warm_up=0))

    assert outcome.grown == ()
    assert outcome.calls > 30


def test_bounded_caches_of_the_standard_library_are_no_growth() -> None:
    numbers = itertools.count()

    assert grown(lambda: re.compile(f"a{next(numbers)}")) == []


def test_an_unbounded_cache_is_growth() -> None:
    numbers = itertools.count()

    @functools.cache
    def cached(n: int) -> Kept:
        return Kept()

    assert ("Kept", 1.0) in grown(lambda: cached(next(numbers)))


def test_cycles_are_no_growth() -> None:
    def call() -> None:
        one = Kept()
        one.me = one  # type: ignore[attr-defined]

    assert grown(call) == []


def test_tolerated_objects() -> None:
    kept: list[object] = []

    assert grown(lambda: kept.append(Kept()), max_objects=1) == []
    assert grown(lambda: kept.extend([Kept(), Kept()]), max_objects=1) == [("Kept", 2.0)]


def test_nothing_is_kept_alive() -> None:
    import weakref

    made: list[weakref.ref[object]] = []

    def call() -> None:
        one = Kept()
        made[:] = [weakref.ref(one)]

    repeat(call, Repetition(repeat=5))

    assert made[0]() is None


def test_a_clean_call_is_repeated_no_more_than_needed() -> None:
    assert repeat(lambda: None, Repetition(repeat=50, warm_up=3)).calls == 53


@pytest.mark.parametrize("wrong", [{"repeat": 4}, {"repeat": "ten"}, {"warm_up": -1}, {"max_objects": None}])
def test_wrong_arguments(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} must be a"):
        Repetition(**wrong)  # type: ignore[arg-type]
