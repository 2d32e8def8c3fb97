"""Arrays are not tracked by the collector, nor are tuples and dicts of plain data that hold them."""

import collections
import gc
import sys
import types

import numpy as np
import pytest

from phaseprof.probes.holders import find_holders

MODULE = sys.modules[__name__]


@pytest.fixture
def home():
    MODULE.HOME = types.SimpleNamespace()
    yield MODULE.HOME
    del MODULE.HOME


def test_array_in_an_attribute(home):
    home.obs = np.zeros(4)

    assert str(find_holders([home.obs])[0]).endswith(".obs ndarray")


def test_array_in_untracked_tuples_in_a_deque(home):
    home.replay = collections.deque(((np.zeros(3), i) for i in range(20)), maxlen=50)
    gc.collect()
    assert not gc.is_tracked(home.replay[-1])

    path = find_holders([home.replay[-1][0]])[0]

    assert str(path).endswith(".replay (deque, 20) [-1] (tuple, 2) [0] ndarray")
    assert path.bound == 50


def test_array_in_nested_untracked_tuples(home):
    home.replay = [((np.zeros(3), 1), 2)]
    for _ in range(2):
        gc.collect()

    path = find_holders([home.replay[0][0][0]])[0]

    assert str(path).endswith(".replay (list, 1) [-1] (tuple, 2) [0] (tuple, 2) [0] ndarray")


def test_base_that_a_view_pins(home):
    home.views = [np.zeros(100)[:3] for _ in range(10)]

    assert str(find_holders([home.views[-1].base])[0]).endswith(".views (list, 10) [-1] (ndarray) .base ndarray")


def test_array_in_an_array_of_objects(home):
    home.table = np.empty(2, dtype=object)
    home.table[1] = np.zeros(3)

    assert str(find_holders([home.table[1]])[0]).endswith(".table (ndarray) item ndarray")
