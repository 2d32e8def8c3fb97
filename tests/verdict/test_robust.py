"""The statistics under the verdict, against values worked out elsewhere and under the noise they promise to bear."""

from __future__ import annotations

import numpy as np
import pytest

from phaseprof.errors import UsageError
from phaseprof.verdict import drift_test, mann_kendall, theil_sen, thin
from phaseprof.verdict.robust import dickey_fuller, may_be_walk, median, noise_of_steps, persistence

RNG = np.random.default_rng


def walk(seed, n=60):
    return RNG(seed).standard_normal(n).cumsum()


def ar1(seed, rho, n=60):
    level, out = 0.0, []
    for shock in RNG(seed).standard_normal(n + 50):
        level = rho * level + shock
        out.append(level)
    return np.array(out[50:])


def test_theil_sen_is_the_median_of_pairwise_slopes():
    x, y = np.array([1.0, 2, 4, 7]), np.array([3.0, 1, 9, 10])

    assert theil_sen(x, y)[0] == pytest.approx(np.median([-2, 2, 7 / 6, 4, 9 / 5, 1 / 3]))


def test_theil_sen_bears_a_quarter_of_wild_points():
    x = np.arange(40.0)
    y = 3 * x
    y[::4] += 1e6 * RNG(0).standard_normal(10)

    assert theil_sen(x, y)[0] == pytest.approx(3, rel=0.02)


def test_theil_sen_interval_covers_the_slope_in_95_of_100():
    x = np.arange(30.0)
    inside = 0
    for seed in range(400):
        _, low, high = theil_sen(x, 2 * x + 5 * RNG(seed).standard_normal(30))
        inside += low <= 2 <= high

    assert 0.92 < inside / 400 <= 1


def test_theil_sen_interval_covers_the_slope_under_persistent_noise():
    x = np.arange(60.0)
    inside = 0
    for seed in range(300):
        _, low, high = theil_sen(x, 2 * x + ar1(seed, 0.6))
        inside += low <= 2 <= high

    assert inside / 300 > 0.9


def test_exact_line_has_an_interval_of_no_width():
    assert theil_sen(np.arange(10.0), np.arange(10.0) * 7) == (7, 7, 7)


@pytest.mark.parametrize("n", [0, 1, 4001])
def test_theil_sen_refuses_too_few_and_too_many(n):
    with pytest.raises(UsageError, match="one length from 2 to 4000"):
        theil_sen(np.arange(float(n)), np.arange(float(n)))


def test_mann_kendall_of_a_hand_worked_series():
    """S = 8 of 10 pairs, variance 5 x 4 x 15 / 18, z = 7 / 4.0825."""
    tau, p = mann_kendall(np.array([1.0, 2, 4, 3, 5]), independent=True)

    assert tau == pytest.approx(0.8)
    assert p == pytest.approx(0.0864, abs=2e-4)


def test_mann_kendall_takes_ties_out_of_the_variance():
    """Variance (5 x 4 x 15 - 3 x 2 x 11 - 2 x 1 x 9) / 18 = 12, S = 6, z = 5 / 3.4641."""
    tau, p = mann_kendall(np.array([1.0, 1, 1, 2, 2]), independent=True)

    assert (tau, p) == (pytest.approx(0.6), pytest.approx(0.1489, abs=2e-4))


def test_mann_kendall_of_a_constant_sees_nothing():
    assert mann_kendall(np.full(20, 3.0)) == (0, 1)


def test_mann_kendall_mirrors():
    y = RNG(1).standard_normal(30) + np.arange(30) / 10

    tau, p = mann_kendall(y)

    assert mann_kendall(y[::-1]) == (pytest.approx(-tau), pytest.approx(p))


@pytest.mark.parametrize(("rho", "most"), [(0.0, 0.07), (0.5, 0.08), (0.7, 0.10)])
def test_mann_kendall_holds_its_level_under_autocorrelation(rho, most):
    alarms = sum(mann_kendall(ar1(seed, rho))[1] < 0.05 for seed in range(400))

    assert alarms / 400 < most


def test_without_the_correction_it_would_not_hold():
    alarms = sum(mann_kendall(ar1(seed, 0.7), independent=True)[1] < 0.05 for seed in range(400))

    assert alarms / 400 > 0.25


def test_drift_test_holds_its_level_on_random_walks():
    alarms = sum(drift_test(walk(seed)) < 0.05 for seed in range(600))

    assert 0.02 < alarms / 600 < 0.08


def test_drift_test_sees_a_drift():
    assert sum(drift_test(walk(seed) + np.arange(60)) < 0.01 for seed in range(50)) == 50


@pytest.mark.parametrize(
    ("y", "p"), [([0.0, 1], 1.0), ([0.0, 1, 2, 3], 0.125), ([3.0, 2, 1, 0], 1.0), ([1.0] * 9, 1.0)]
)
def test_drift_test_of_tiny_and_exact_series(y, p):
    assert drift_test(np.array(y)) == p


def test_drift_test_agrees_with_student():
    """Increments 1, 2, 3, 4: t = 3.873 with 3 degrees of freedom, one-sided p = 0.0152."""
    assert drift_test(np.array([0.0, 1, 3, 6, 10])) == pytest.approx(0.0152, abs=0.002)


# Readings come at every generation at first, and later as a budget lets them.
UNEVEN = np.array([*range(14), *range(24, 150, 10)], dtype=np.float64)


def at_uneven(y):
    return y[UNEVEN.astype(int)]


def test_drift_test_holds_its_level_where_readings_are_uneven():
    alarms = sum(drift_test(at_uneven(walk(seed, 150)), UNEVEN) < 0.05 for seed in range(600))

    assert 0.02 < alarms / 600 < 0.08


def test_uneven_readings_of_a_line_in_noise_are_no_walk():
    refused = sum(not may_be_walk(at_uneven(RNG(seed).standard_normal(150)), UNEVEN) for seed in range(200))

    assert refused > 150


def test_uneven_readings_of_walks_are_seldom_taken_for_anything_else():
    refused = sum(not may_be_walk(at_uneven(walk(seed, 150)), UNEVEN) for seed in range(600))

    assert refused / 600 < 0.1


def test_the_trend_of_uneven_readings_is_taken_off_where_they_lie():
    line = UNEVEN + 0.1 * at_uneven(RNG(0).standard_normal(150))

    assert mann_kendall(line, UNEVEN)[1] < 1e-6


@pytest.mark.parametrize("n", [17, 27, 100])
def test_five_of_a_hundred_walks_are_refused(n):
    refused = sum(not may_be_walk(walk(seed, n)) for seed in range(1000))

    assert 0.025 < refused / 1000 < 0.075


def test_noise_around_a_line_is_no_walk():
    assert not any(may_be_walk(np.arange(100) + RNG(seed).standard_normal(100)) for seed in range(200))


def test_six_readings_may_always_be_a_walk():
    assert may_be_walk(np.arange(6.0))


def test_dickey_fuller_of_an_exact_line_is_minus_infinity():
    assert dickey_fuller(np.arange(20.0)) == float("-inf")


def test_persistence_is_near_the_truth():
    x = np.arange(60)
    found = [persistence(y - np.polyval(np.polyfit(x, y, 1), x)) for y in (ar1(seed, 0.6) for seed in range(100))]

    assert np.mean(found) == pytest.approx(0.6, abs=0.06)


@pytest.mark.parametrize("y", [np.arange(20.0), np.arange(20.0) // 5, np.full(20, 1.0)])
def test_exact_series_have_no_noise(y):
    assert noise_of_steps(np.diff(y))[1] == 0


@pytest.mark.parametrize("n", [2, 239, 240, 241, 480, 100_000])
def test_thin_keeps_length_ends_and_slope(n):
    x, y = thin(np.arange(float(n)), 3 * np.arange(float(n)))

    assert len(x) == len(y) <= 240
    assert n - 1 - x[-1] <= n / 240
    assert np.allclose(np.diff(y), 3 * np.diff(x))


def test_thin_leaves_short_series_alone():
    x = np.arange(5.0)

    assert thin(x, x)[0] is x


def test_thin_needs_two_points():
    with pytest.raises(UsageError, match="most must be at least 2"):
        thin(np.arange(5.0), np.arange(5.0), most=1)


def test_noise_of_steps_bears_a_third_of_wild_ones():
    steps = 5 + RNG(0).standard_normal(300)
    steps[::3] = 1e9

    usual, width = noise_of_steps(steps)

    assert usual == pytest.approx(5, abs=1)
    assert 1 < width < 4


def test_median_of_many_is_near_the_true_one():
    values = RNG(0).standard_normal(300_000)

    assert median(values) == pytest.approx(0, abs=0.05)
