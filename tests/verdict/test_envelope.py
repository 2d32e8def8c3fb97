"""The floor of a sawtooth."""

from __future__ import annotations

import numpy as np

from phaseprof.verdict import lower_envelope
from phaseprof.verdict.envelope import cycle_height, drops, is_cyclic


def arrays(values):
    return np.arange(float(len(values))), np.array(values, dtype=float)


def test_floor_is_the_reading_after_each_drop():
    x, y = lower_envelope(*arrays([5, 9, 1, 4, 7, 2, 6, 9, 3, 8]))

    assert (x.tolist(), y.tolist()) == ([2, 5, 8], [1, 2, 3])


def test_of_falls_in_a_row_the_last_counts():
    assert drops(arrays([0, 3, 6, 9, 5, 1, 4, 7, 10, 2])[1]).tolist() == [5, 9]


def test_three_marked_readings_are_the_floor():
    marks = np.array([False, True, False, False, True, False, True, False])

    x, y = lower_envelope(*arrays([5, 9, 1, 4, 7, 2, 6, 9]), after_collection=marks)

    assert (x.tolist(), y.tolist()) == ([1, 4, 6], [9, 7, 6])


def test_two_marked_readings_are_not_enough():
    marks = np.array([True, True, False, False, False, False, False, False, False, False])

    assert len(lower_envelope(*arrays([5, 9, 1, 4, 7, 2, 6, 9, 3, 8]), after_collection=marks)[0]) == 3


def test_series_without_teeth_is_its_own_floor():
    x, y = arrays([1, 2, 3, 4])

    assert lower_envelope(x, y)[1] is y


def test_noise_has_no_drops():
    y = np.random.default_rng(0).standard_normal(200)

    assert not is_cyclic(y, drops(y))


def test_swinging_to_and_fro_is_no_sawtooth():
    y = arrays([0, 5] * 10)[1]

    assert not is_cyclic(y, drops(y))


def test_height_is_that_of_the_highest_drop():
    y = arrays([0, 4, 8, 1, 5, 9, 0])[1]

    assert cycle_height(y, drops(y)) == 9


def test_no_drops_no_height():
    y = arrays([1, 2, 3])[1]

    assert cycle_height(y, drops(y)) == 0
