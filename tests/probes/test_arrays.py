from __future__ import annotations

import collections
import gc
import mmap
import sys
import weakref

import numpy as np
import pytest

from phaseprof.probes import arrays, own


@pytest.fixture
def new_bytes():
    """Return a function that tells how many buffer bytes there are beyond those at the start."""
    gc.collect()
    before = arrays.array_buffers()
    return lambda: sum(n for key, n in arrays.array_buffers().items() if key not in before)


class Agent:
    pass


def test_an_array_in_a_list_counts_its_buffer(new_bytes):
    kept = [np.zeros(1000)]

    assert new_bytes() == 8000
    del kept


def test_arrays_in_untracked_tuples_in_a_deque_are_found(new_bytes):
    kept = collections.deque((np.zeros(100), 1) for _ in range(10))
    gc.collect()
    assert not any(map(gc.is_tracked, kept))

    assert new_bytes() == 8000


def test_arrays_in_untracked_dicts_of_untracked_tuples_are_found(new_bytes):
    agent = Agent()
    agent.memory = {"obs": (np.zeros(10), (np.zeros(20),))}
    gc.collect()

    assert new_bytes() == 240


def test_views_of_one_buffer_count_once(new_bytes):
    base = np.zeros(1000)
    kept = [base, base[:10], base.reshape(10, 100)[3], base.view(np.uint8)]

    assert new_bytes() == 8000
    del kept


def test_a_small_view_counts_the_whole_buffer_it_pins(new_bytes):
    kept = [np.zeros(1_000_000)[:3] for _ in range(2)]

    assert new_bytes() == 16_000_000
    del kept


def test_views_over_one_bytes_object_count_it_once(new_bytes):
    raw = bytes(4096)
    kept = [np.frombuffer(raw, np.uint8), np.frombuffer(memoryview(raw)[10:], np.uint8)]

    assert new_bytes() == 4096
    del kept


def test_broadcast_and_strided_views_count_what_exists(new_bytes):
    base = np.zeros(100)
    kept = [np.broadcast_to(base, (1000, 100)), np.lib.stride_tricks.sliding_window_view(base, 50)]
    del base

    assert new_bytes() == 800
    del kept


def test_a_mapped_file_is_no_array_memory(new_bytes):
    view = np.frombuffer(mmap.mmap(-1, 8192), np.uint8)

    assert new_bytes() == 0
    del view


def test_items_of_object_arrays_are_followed(new_bytes):
    outer = np.empty(2, dtype=object)
    outer[:] = [np.zeros(100), {"x": np.zeros(50)}]
    kept = [outer]
    gc.collect()
    del outer

    assert new_bytes() == 16 + 800 + 400
    del kept


def test_fields_of_structured_object_arrays_are_followed(new_bytes):
    table = np.zeros(1, dtype=[("n", "i8"), ("item", "O")])
    table["item"][0] = np.zeros(100)
    kept = [table]
    del table

    assert new_bytes() == 16 + 800
    del kept


def test_subclasses_with_their_own_attributes_are_counted(new_bytes):
    class Named(np.ndarray):
        nbytes = property(lambda self: 1 / 0)
        base = property(lambda self: 1 / 0)
        dtype = property(lambda self: 1 / 0)

    kept = [np.zeros(100).view(Named)]

    assert new_bytes() == 800
    del kept


def test_masks_of_masked_arrays_are_counted(new_bytes):
    kept = [np.ma.masked_array(np.zeros(1000), mask=np.zeros(1000, bool))]

    assert 9000 <= new_bytes() < 9100  # and a fill value
    del kept


def test_locals_of_running_functions_are_seen_and_not_kept(new_bytes):
    def run():
        local = np.zeros(500)
        size = new_bytes()
        gone = weakref.ref(local)
        del local
        return size, gone()

    size, left = run()
    assert size == 4000
    assert left is None


def test_locals_that_the_function_asked_for_stay_as_they_are():
    def run():
        value = 5
        mine = locals()
        arrays.array_buffers()
        return mine["value"], value

    assert run() == (5, 5)


def test_arrays_held_by_a_suspended_generator_are_found(new_bytes):
    def produce():
        batch = np.zeros(300)
        yield
        del batch

    running = produce()
    next(running)

    assert new_bytes() == 2400


def test_measured_arrays_die_when_the_user_lets_go():
    array = np.zeros(10)
    gone = weakref.ref(array)
    arrays.census_arrays()

    del array

    assert gone() is None


def test_own_buffers_are_left_out(new_bytes):
    class Ring:
        pass

    ring = Ring()
    ring.values = np.zeros(1000)
    Ring.__module__ = "phaseprof.live.ring"
    own.register(ring)

    assert new_bytes() == 0


def test_pinned_views_add_up_bases_that_no_container_holds():
    gc.collect()
    before = arrays.pinned_views()
    kept = [np.zeros(1000)[:10] for _ in range(5)]
    healthy = np.zeros(1000)
    also = [healthy[:10], np.zeros(1000)[:990]]

    after = arrays.pinned_views()

    assert after.n_buffers - before.n_buffers == 5
    assert after.buffer_bytes - before.buffer_bytes == 40_000
    assert after.view_bytes - before.view_bytes == 400
    del kept, also


def test_counting_leaves_nothing_behind():
    kept = [Agent() for _ in range(10_000)]
    for agent in kept:
        agent.x = 1.5
    arrays.array_buffers()
    before = sys.getallocatedblocks()

    arrays.array_buffers()

    assert sys.getallocatedblocks() - before < 200
