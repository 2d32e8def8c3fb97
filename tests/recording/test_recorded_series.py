"""A series of readings: bounded, in order, newest kept."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.recording.series import MAX_READINGS, Series, Sums

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.floats(allow_nan=False)), max_size=60)


def made(pairs: list[tuple[int, float]]) -> Series:
    series = Series()
    for generation, value in pairs:
        series.put(generation, value)
    return series


def test_a_second_reading_in_a_generation_replaces_the_first() -> None:
    assert list(made([(0, 1.0), (0, 2.0), (1, 3.0)])) == [(0, 2.0), (1, 3.0)]


def test_a_reading_from_before_is_left_out() -> None:
    assert list(made([(5, 1.0), (4, 2.0)])) == [(5, 1.0)]


@given(PAIRS)
def test_many_at_once_is_one_by_one(pairs: list[tuple[int, float]]) -> None:
    at_once = Series()

    at_once.extend([g for g, _ in pairs], [v for _, v in pairs])

    assert list(at_once) == list(made(pairs))


@given(PAIRS)
def test_generations_rise(pairs: list[tuple[int, float]]) -> None:
    generations = made(pairs).generations

    assert generations == sorted(set(generations))
    assert not pairs or generations[-1] == max(g for g, _ in pairs)


@pytest.mark.parametrize("n", [MAX_READINGS, MAX_READINGS + 1, 50_000])
def test_old_readings_are_thinned_evenly_and_the_newest_is_kept(n: int) -> None:
    series = made([(g, float(g)) for g in range(n)])

    steps = {b - a for a, b in zip(series.generations, series.generations[1:-1], strict=False)}
    assert len(series) <= MAX_READINGS
    assert len(series) > MAX_READINGS // 4
    assert (series.generations[0], series.generations[-1], series.last) == (0, n - 1, n - 1)
    assert len(steps) == 1
    assert all(g == v for g, v in series)


def test_deltas_of_one_generation_are_added_up() -> None:
    sums = Sums()

    for generation, delta in ((0, 1.0), (3, 2.0), (0, 2.0), (1, 5.0)):
        sums.put(generation, delta)

    assert list(sums) == [(0, 3.0), (1, 5.0), (3, 2.0)]


DELTAS = st.lists(st.tuples(st.integers(-1, 9 * MAX_READINGS), st.integers(-9, 9)), max_size=60)


@given(DELTAS, st.integers(0, 3 * MAX_READINGS), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_sums_do_not_depend_on_the_order_of_deltas(pairs: list[tuple[int, int]], n: int, order: Random) -> None:
    pairs = [*pairs, *((g, g % 7) for g in range(n))]
    one_by_one, at_once = Sums(), Sums()
    for generation, value in pairs:
        one_by_one.put(generation, value)
    order.shuffle(pairs)

    at_once.extend([g for g, _ in pairs], [v for _, v in pairs])

    assert list(at_once) == list(one_by_one)
    assert len(at_once) <= MAX_READINGS
    assert sum(at_once.values) == sum(v for _, v in pairs)


def test_thinned_sums_stand_for_the_generations_that_follow() -> None:
    sums = Sums()
    sums.extend(range(MAX_READINGS + 1), [1.0] * (MAX_READINGS + 1))
    sums.put(-1, 5.0)

    assert sums.stride == 2
    assert list(sums)[:3] == [(-1, 5.0), (0, 2.0), (2, 2.0)]
    assert sums.slot(7) == 6
