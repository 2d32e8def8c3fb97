from __future__ import annotations

import collections
import gc
import sys

import numpy as np
import pytest
from hostile import Hostile, calls, hostile_class

from phaseprof.probes import heap, own


class Env:
    pass


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()
    yield
    assert calls == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: list(range(100)),
        lambda: {str(i): i for i in range(100)},
        lambda: set(range(100)),
        lambda: collections.deque(range(100)),
        lambda: collections.OrderedDict.fromkeys(range(100)),
        lambda: collections.defaultdict(int, {i: i for i in range(100)}),
        lambda: collections.Counter(range(100)),
    ],
)
def test_long_containers_are_listed_with_length_and_table(make):
    container = make()
    kept = [container]
    gc.collect()

    name, length, table = heap.read_heap().containers[id(container)]

    assert length == 100
    assert table == type(container).__sizeof__(container)
    assert name.rpartition(".")[2] == type(container).__name__
    del kept


def test_short_containers_are_not_listed():
    short, long = list(range(9)), list(range(10))

    listed = heap.read_heap(min_length=10).containers

    assert id(short) not in listed
    assert id(long) in listed


def test_dicts_that_the_collector_stopped_tracking_are_listed():
    env = Env()
    env.cache = {str(i): i for i in range(500)}
    gc.collect()

    assert heap.read_heap().containers[id(env.cache)][1] == 500


def test_subclasses_of_builtin_containers_are_not_asked_for_their_length():
    class Liar(list):
        def __len__(self):
            calls.append("Liar.__len__")
            return 10**9

    liar = Liar(range(100))

    assert id(liar) not in heap.read_heap().containers


def test_own_containers_are_left_out():
    class Journal:
        pass

    Journal.__module__ = "phaseprof.live.journal"
    journal = Journal()
    journal.lines = list(range(1000))
    own.register(journal)

    assert id(journal.lines) not in heap.read_heap().containers


def test_what_was_not_asked_for_is_empty():
    kept = [Env() for _ in range(1001)]

    reading = heap.read_heap(counts=False, containers=False, storages=False, arrays=False)

    assert (reading.counts, reading.containers, reading.storages, reading.arrays) == ({}, {}, {}, (0, 0))
    assert reading.n_objects > 1000
    del kept


def test_counts_and_arrays_come_from_one_walk():
    kept = [Env() for _ in range(5)], np.zeros(1000)

    reading = heap.read_heap()

    assert reading.counts["test_heap.Env"] == 5
    assert reading.arrays[0] >= 1
    assert reading.arrays[1] >= 8000
    del kept


def test_bytes_and_bytearrays_are_added_up():
    before = heap.read_heap().untracked
    kept = [bytearray(5000), b"x" * 7000]

    after = heap.read_heap().untracked

    assert after["bytearray"][1] - before.get("bytearray", (0, 0))[1] >= 5000
    assert 7000 <= after["bytes"][1] - before["bytes"][1] < 9000
    del kept


def test_strings_are_added_up_when_asked_for():
    kept = ["x" * 1_000_000]

    assert heap.read_heap(strings=True).untracked["str"][1] > 1_000_000
    assert "str" not in heap.read_heap().untracked
    del kept


def test_hostile_objects_in_the_heap_are_never_asked():
    cls = hostile_class()
    kept = [Hostile(), cls(), {"a": Hostile()}, (Hostile(),)]

    reading = heap.read_heap(strings=True)

    assert reading.counts["hostile.Hostile"] == 3
    assert reading.counts["hostile.HostileClass"] == 1
    del kept


def test_lengths_of_known_containers_follow_them():
    tracked, untracked = list(range(5)), {str(i): i for i in range(7)}
    kept = [tracked, untracked]
    gc.collect()

    assert heap.container_lengths([id(tracked), id(untracked)]) == {id(tracked): 5, id(untracked): 7}
    del kept


def test_lengths_of_dead_containers_are_missing():
    dead = id([1, 2, 3])

    assert heap.container_lengths({dead, id(Env)}, reach_untracked=False).keys() <= {dead}
    assert id(Env) not in heap.container_lengths([id(Env)])


def test_a_reading_leaves_nothing_behind():
    kept = [Env() for _ in range(10_000)]
    for env in kept:
        env.x = 1.5
    heap.read_heap(strings=True)
    before = sys.getallocatedblocks()

    heap.read_heap(strings=True)

    assert sys.getallocatedblocks() - before < 500
