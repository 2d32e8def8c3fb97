"""What must not matter: the unit, the level, the spacing of generations, the order of independent points."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.records import VERDICTS
from phaseprof.verdict import judge, lower_envelope, theil_sen


@given(st.just(0))
def settle(_):
    """Hypothesis times collections from its first run on, by a callback that stays: have it there before any test."""


settle()
few = settings(max_examples=60, deadline=None)
steps = st.lists(st.sampled_from([0, 0, 1, 1, 2, 5, -1, -3, -40, 100]), min_size=6, max_size=45)
levels = st.lists(st.integers(-1000, 1000), min_size=6, max_size=45)
series = st.one_of(steps.map(np.cumsum), levels.map(np.array))


@few
@given(series)
def test_judgement_is_always_in_range(values):
    found = judge(values)

    assert found.verdict in VERDICTS
    assert found.slope_low <= found.slope <= found.slope_high
    assert 0 <= found.confidence <= 1
    assert found.n + found.warm_up + found.ending == len(values)
    assert found.since is None or 0 <= found.since < len(values)


@few
@given(series, st.integers(-(10**12), 10**12))
def test_level_does_not_matter(values, shift):
    low, high = judge(values), judge(values + shift)

    assert (low.verdict, low.shape, low.since, low.slope) == (high.verdict, high.shape, high.since, high.slope)


@few
@given(series, st.sampled_from([0.25, 2, 1024, 2**30, 2**40]))
def test_unit_does_not_matter(values, scale):
    small, large = judge(values), judge(values * scale)

    assert (small.verdict, small.shape, small.since) == (large.verdict, large.shape, large.since)
    assert np.isclose(large.slope, small.slope * scale)
    assert np.isclose(large.growth, small.growth * scale)


@few
@given(series, st.integers(1, 1000), st.integers(0, 10**6))
def test_spacing_and_begin_of_generations_do_not_matter(values, spacing, begin):
    plain = judge(values)
    spaced = judge(values, generations=begin + spacing * np.arange(len(values)))

    assert (plain.verdict, plain.shape) == (spaced.verdict, spaced.shape)
    assert np.isclose(spaced.slope * spacing, plain.slope)


@few
@given(series)
def test_the_judge_keeps_its_hands_off_the_input(values):
    before = values.copy()

    judge(values)

    assert (values == before).all()


@few
@given(st.dictionaries(st.integers(0, 500), st.integers(-99, 99), min_size=3, max_size=20))
def test_slope_does_not_depend_on_the_order_of_points(points):
    x, y = np.array(list(points.items()), dtype=float).T
    order = np.argsort(x)

    assert np.isclose(theil_sen(x[order], y[order])[0], theil_sen(x, y)[0])


@few
@given(series)
def test_envelope_is_part_of_the_series(values):
    x = np.arange(len(values), dtype=float)

    floor_x, floor_y = lower_envelope(x, values.astype(float))

    assert set(zip(floor_x, floor_y, strict=True)) <= set(zip(x, values.astype(float), strict=True))


@few
@given(steps.map(np.cumsum), st.integers(1, 9))
def test_a_series_that_never_rises_is_no_leak(values, pace):
    falling = -np.maximum.accumulate(values) - pace * np.arange(len(values))

    assert judge(falling).verdict == "stable"


@few
@given(st.integers(8, 60), st.integers(1, 10**9), st.integers(0, 10**12))
def test_every_exact_line_is_a_leak(n, slope, level):
    found = judge(level + slope * np.arange(n))

    assert (found.verdict, found.shape, found.slope, found.since) == ("leak", "linear", slope, 0)


@few
@given(st.lists(st.integers(0, 9), min_size=2, max_size=40), st.sampled_from([1.0, 0.1, 4096.0]))
def test_what_never_rises_is_at_rest(falls, unit):
    """Whoever judges many series passes over those that never rise: no growth would be found in them."""
    found = judge(1e6 - unit * np.cumsum(falls))

    assert found.verdict in ("stable", "too short")
    assert found.growth <= 0


@given(
    st.integers(1, 4), st.integers(12, 20), st.integers(2, 12), st.lists(st.integers(-1, 1), min_size=12, max_size=25),
    st.sampled_from([1.0, 3.0, 4096.0]),
)  # fmt: skip
def test_what_comes_every_few_generations_is_a_leak_however_rare_readings_grow(period, first, apart, jitter, size):
    """The last reading may lie just before the next rise."""
    at = [*range(first), *(first - 1 + np.cumsum([max(1, apart + j) for j in jitter])).tolist()]

    assert judge([size * (g // period) for g in at], at).verdict == "leak"
