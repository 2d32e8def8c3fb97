from __future__ import annotations

import collections
import gc
import mmap
import sys
import weakref
from collections import Counter

import numpy as np
import pytest

from phaseprof.probes import arrays, own
from phaseprof.probes.large import large_objects

LARGE = 80_000


@pytest.fixture
def new_arrays():
    """Return a function that tells how many arrays there are beyond those at the start."""
    gc.collect()
    before = arrays.count_arrays()
    return lambda: arrays.count_arrays() - before


def sizes_of_arrays():
    found = large_objects(LARGE, limit=10_000)
    return Counter(one.size_bytes for one in found if "(" in one.detail)  # a shape


@pytest.fixture
def new_buffers():
    """Return a function that lists the bytes of large buffers beyond those at the start."""
    gc.collect()
    before = sizes_of_arrays()
    return lambda: sorted((sizes_of_arrays() - before).elements())


class Agent:
    pass


def test_an_array_in_a_list_counts(new_arrays):
    kept = [np.zeros(1000)]

    assert new_arrays() == 1
    del kept


def test_arrays_in_untracked_tuples_in_a_deque_are_found(new_arrays):
    kept = collections.deque((np.zeros(100), 1) for _ in range(10))
    gc.collect()
    assert not any(map(gc.is_tracked, kept))

    assert new_arrays() == 10


def test_arrays_in_untracked_dicts_of_untracked_tuples_are_found(new_arrays):
    agent = Agent()
    agent.memory = {"obs": (np.zeros(10), (np.zeros(20),))}
    gc.collect()

    assert new_arrays() == 2


def test_views_of_one_buffer_are_one_buffer(new_arrays, new_buffers):
    base = np.zeros(10_000)
    kept = [base, base[:10], base.reshape(10, 1000)[3], base.view(np.uint8)]

    assert new_buffers() == [80_000]
    assert new_arrays() == 4
    del kept


def test_a_small_view_counts_the_whole_buffer_it_pins(new_buffers):
    kept = [np.zeros(1_000_000)[:3] for _ in range(2)]

    assert new_buffers() == [8_000_000, 8_000_000]
    del kept


def test_views_over_one_bytes_object_count_it_once(new_buffers):
    raw = bytes(123_456)
    kept = [np.frombuffer(raw, np.uint8), np.frombuffer(memoryview(raw)[10:], np.uint8)]

    assert new_buffers() == [123_456]
    del kept


def test_broadcast_and_strided_views_count_what_exists(new_buffers):
    base = np.zeros(10_000)
    kept = [np.broadcast_to(base, (1000, 10_000)), np.lib.stride_tricks.sliding_window_view(base, 50)]
    del base

    assert new_buffers() == [80_000]
    del kept


def test_a_mapped_file_is_no_array_memory(new_buffers):
    view = np.frombuffer(mmap.mmap(-1, 1 << 20), np.uint8)

    assert new_buffers() == []
    del view


def test_items_of_object_arrays_are_followed(new_arrays):
    outer = np.empty(2, dtype=object)
    outer[:] = [np.zeros(100), {"x": np.zeros(50)}]
    kept = [outer]
    gc.collect()
    del outer

    assert new_arrays() == 3
    del kept


def test_fields_of_structured_object_arrays_are_followed(new_arrays):
    table = np.zeros(1, dtype=[("n", "i8"), ("item", "O")])
    table["item"][0] = np.zeros(100)
    kept = [table]
    del table

    assert new_arrays() == 2
    del kept


def test_subclasses_with_their_own_attributes_are_counted(new_arrays, new_buffers):
    class Named(np.ndarray):
        nbytes = property(lambda self: 1 / 0)
        base = property(lambda self: 1 / 0)
        dtype = property(lambda self: 1 / 0)

    kept = [np.zeros(10_000).view(Named)]

    assert new_buffers() == [80_000]
    assert new_arrays() == 1
    del kept


def test_masks_of_masked_arrays_are_counted(new_buffers):
    kept = [np.ma.masked_array(np.zeros(100_000), mask=np.zeros(100_000, bool))]

    assert new_buffers() == [100_000, 800_000]
    del kept


def test_locals_of_running_functions_are_seen_and_not_kept(new_arrays):
    def run():
        local = np.zeros(500)
        n = new_arrays()
        gone = weakref.ref(local)
        del local
        return n, gone()

    assert run() == (1, None)


def test_locals_that_the_function_asked_for_stay_as_they_are():
    def run():
        value = 5
        mine = locals()
        arrays.count_arrays()
        return mine["value"], value

    assert run() == (5, 5)


def test_arrays_held_by_a_suspended_generator_are_found(new_arrays):
    def produce():
        batch = np.zeros(300)
        yield
        del batch

    running = produce()
    next(running)

    assert new_arrays() == 1


def test_counted_arrays_die_when_the_user_lets_go():
    array = np.zeros(10)
    gone = weakref.ref(array)
    arrays.count_arrays()

    del array

    assert gone() is None


def test_own_buffers_are_left_out(new_arrays):
    class Ring:
        pass

    ring = Ring()
    ring.values = np.zeros(1000)
    Ring.__module__ = "phaseprof.live.ring"
    own.register(ring)

    assert new_arrays() == 0


def test_counting_leaves_nothing_behind():
    kept = [Agent() for _ in range(10_000)]
    for agent in kept:
        agent.x = 1.5
    arrays.count_arrays()
    before = sys.getallocatedblocks()

    arrays.count_arrays()

    assert sys.getallocatedblocks() - before < 200
