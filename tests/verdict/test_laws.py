"""Laws of a verdict: what may be done to the readings of a leak without making it anything else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.verdict import judge


@given(st.just(0))
def settle(_):
    """Hypothesis times collections from its first run on, by a callback that stays: have it there before any test."""


settle()
few = settings(max_examples=60, deadline=None)
# What one period of a leak adds, reading by reading; something in every third at least, or it is no steady growth.
patterns = st.lists(st.integers(0, 9), min_size=1, max_size=3).filter(any)
scales = st.sampled_from([1, 24, 4096, 10**6])


def leak_of(pattern, periods, scale=1):
    return 10**6 + scale * np.cumsum(np.tile(pattern, periods))


@few
@given(patterns, scales, st.integers(1, 5), st.floats(0, 0.95))
def test_a_teardown_changes_nothing(pattern, scale, n_last, share):
    """The program is taken down at the end, to a share of the growth, or below where it began."""
    values = leak_of(pattern, 20, scale)
    n_last = min(n_last, max(2, len(values) // 10))
    grown = values[-1] - values[0]
    down = np.full(n_last, values[0] + share * grown - 0.02 * grown)

    assert judge(values).verdict == "leak"
    assert judge([*values, *down]).verdict == "leak"
    assert judge([*values, *(down - np.arange(n_last) * grown / 50)]).verdict == "leak"


@few
@given(patterns, scales, st.floats(0.5, 3), st.integers(8, 100))
def test_one_low_reading_changes_nothing_wherever_it_is(pattern, scale, depth, at):
    values = leak_of(pattern, 20, scale).astype(float)
    place = 8 + at % (len(values) - 8)

    values[place] -= depth * (values[-1] - values[0])

    assert judge(values).verdict == "leak"


@few
@given(patterns, scales, st.integers(1, 60))
def test_more_of_the_same_changes_nothing(pattern, scale, more):
    assert judge(leak_of(pattern, 20, scale)).verdict == "leak"
    assert judge(leak_of(pattern, 20 + more, scale)).verdict == "leak"


@few
@given(st.integers(1, 9), scales, st.integers(2, 5))
def test_thinning_changes_nothing(slope, scale, every):
    values = leak_of([slope], 60, scale)
    generations = np.arange(len(values))

    assert judge(values[::every], generations[::every]).verdict == "leak"


@few
@given(st.integers(3, 9), st.integers(3, 8), scales)
def test_a_sawtooth_stays_one_wherever_it_is_cut(period, n_cycles, scale):
    values = scale * (np.arange(period * n_cycles + period) % period)

    for n in range(3 * period, len(values) + 1):
        assert judge(values[:n]).verdict != "leak"


def test_the_ending_is_told():
    found = judge([*range(30), 4, 4])

    assert (found.verdict, found.ending, found.growth) == ("leak", 2, judge(range(30)).growth)


@few
@given(st.integers(1, 20), st.integers(40, 120), st.integers(5, 50))
def test_a_leak_after_small_cycles_has_its_own_slope(slow, n_late, times):
    """A cache that fills by fits and starts leaks slowly, if at all, and then something else leaks fast."""
    early = np.array([10 * slow * (g // 6) + 30 * slow * (g % 6) for g in range(48)], float)
    late = early[-1] + slow * times * np.arange(1, n_late + 1) * 10

    assert judge(early).slope == pytest.approx(10 * slow / 6, rel=0.1)
    found = judge([*early, *late])

    assert (found.verdict, found.slope) == ("leak", pytest.approx(10 * slow * times, rel=0.1))


@few
@given(st.integers(11, 30), st.integers(0, 60))
def test_a_fall_that_was_seen_long_after_the_reading_before_it_is_no_ending(n, later):
    """A cache may have been cleared meanwhile, and fill up again."""
    found = judge([*range(n), n - 2.5], [*range(n), n + later])

    assert found.ending == (3 * (1 + later) <= n - 1)
    assert (found.verdict == "leak") >= found.ending


def test_a_collection_at_the_end_shows_garbage():
    """A full collection took it down: what rose before was waiting for one."""
    values = [*range(30), 0]

    assert judge(values, after_collection=[False] * 30 + [True]).verdict == "sawtooth"


@few
@given(st.integers(6, 9), st.integers(0, 20), st.integers(500, 10**6))
def test_a_leap_among_small_rises_is_not_in_their_slope(at, more, height):
    """What is loaded once in a short run leaves the rate of the rest."""
    values = np.arange(12 + more) + height * (np.arange(12 + more) >= at)
    found = judge(values)

    assert (found.verdict, found.slope, found.slope_low, found.slope_high) == ("leak", 1, 1, 1)
    assert judge(values, 3 * np.arange(12 + more)).slope == pytest.approx(1 / 3)


@few
@given(st.integers(0, 8), st.floats(0.0001, 0.009))
def test_a_fall_that_takes_back_next_to_nothing_is_no_ending(more, share):
    values = [*np.arange(0.0, 20 + more)]
    values += [values[-1] * (1 - share)]

    assert judge(values).ending == 0
    assert judge([*values[:-1], values[-2] / 2]).ending == 1


def test_it_shows_garbage_after_another_fall_as_well():
    values = [*range(30), 29.5, 28.5, 29, 0]

    assert judge(values).verdict == "leak"
    assert judge(values, after_collection=[False] * 33 + [True]).verdict == "sawtooth"


def test_growth_that_begins_anew_is_no_ending():
    assert judge([*range(20), 0, 1]).verdict == "sawtooth"


@few
@given(st.lists(st.integers(80, 120), min_size=30, max_size=60), st.integers(2, 4), st.floats(0.001, 1))
def test_one_late_reading_that_rose_by_little_takes_nothing_back(rises, late, share):
    """A busy machine read nothing for a while, and then the program had begun to let go."""
    values = [*np.cumsum(rises).tolist()]
    generations = [*range(len(values)), len(values) - 1 + late]

    assert judge([*values, values[-1] + 100 * share], generations).verdict == "leak"
