from __future__ import annotations

import array
import collections
import dataclasses
import functools
import gc
import itertools
import logging
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from hostile import Hostile, calls, hostile_class

from phaseprof.native.extension import passes_in_python
from phaseprof.probes.sizes import Sizing, deep_sizes
from tests.sizing import deep_size


class Plain:
    pass


@dataclasses.dataclass
class Record:
    a: object
    b: object


class Slotted:
    __slots__ = ("x", "y")


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()
    yield
    assert calls == []


def plain_objects(n):
    made = []
    for i in range(n):
        obj = Plain()
        obj.a, obj.b = float(i), [i + 1000]
        made.append(obj)
    return made


def records(n):
    return [Record(float(i), (i + 1000, str(i))) for i in range(n)]


def slotted(n):
    made = []
    for i in range(n):
        obj = Slotted()
        obj.x, obj.y = i + 1000, {"k": float(i)}
        made.append(obj)
    return made


@pytest.mark.parametrize(
    "make",
    [
        lambda: plain_objects(5000),
        lambda: records(5000),
        lambda: slotted(5000),
        lambda: {str(i): float(i) for i in range(5000)},
        lambda: collections.deque(bytes(100) for _ in range(5000)),
        lambda: [np.zeros(50) for _ in range(5000)],
        lambda: collections.OrderedDict((i + 1000, [i + 9000]) for i in range(5000)),
        lambda: [{i + 1000} for i in range(5000)],
        lambda: [array.array("d", range(10)) for _ in range(5000)],
        lambda: [(lambda x=float(i): x) for i in range(5000)],
        lambda: [functools.partial(max, float(i)) for i in range(5000)],
    ],
    ids=[
        "instances",
        "dataclasses",
        "slots",
        "dict",
        "deque",
        "arrays",
        "ordered",
        "sets",
        "array",
        "lambdas",
        "partial",
    ],
)
def test_the_size_is_what_the_allocators_handed_out(make):
    make()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = make()
        gc.collect()
        spent = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert deep_size(kept).bytes == pytest.approx(spent, rel=0.06)


def test_a_shared_object_counts_once():
    big = bytes(10_000)

    assert deep_size([big, big, (big,)]).bytes < 10_500


def test_cycles_end():
    loop = []
    loop.append(loop)

    assert deep_size(loop).bytes == sys.getsizeof(loop)


def test_a_view_counts_the_buffer_it_keeps():
    assert 800_000 <= deep_size(np.zeros(100_000)[:2]).bytes < 801_000


def test_views_of_one_buffer_count_it_once():
    base = np.zeros(100_000)

    assert deep_size([base, base[:5], base[::2]]).bytes < 801_000


def test_buffers_of_bytes_and_memoryviews_count_once():
    raw = bytearray(100_000)

    assert 100_000 <= deep_size([np.frombuffer(raw, np.uint8), memoryview(raw)[1:]]).bytes < 101_000


def test_object_arrays_are_followed():
    outer = np.empty(3, dtype=object)
    outer[:] = [bytes(10_000), [bytes(20_000)], np.zeros(5000)]

    assert 70_000 <= deep_size(outer).bytes < 71_000


def test_modules_classes_and_globals_are_not_owned():
    def callback():
        return np

    holder = [np, Plain, callback, sys, logging.getLogger("x"), threading.current_thread(), sys._getframe()]

    assert deep_size(holder).bytes < 1000


def test_closures_of_functions_made_at_run_time_are_owned():
    big = bytes(50_000)

    assert deep_size([lambda: big]).bytes > 50_000


def test_weak_references_own_nothing():
    target = Plain()
    target.big = bytes(50_000)

    assert deep_size([weakref.ref(target), weakref.WeakValueDictionary(a=target)]).bytes < 5000


def test_bound_methods_own_their_object():
    target = Record(bytes(50_000), None)

    assert deep_size([target.__eq__]).bytes > 50_000


def test_hostile_objects_are_measured_and_never_asked():
    cls = hostile_class()
    held = Hostile()
    object.__setattr__(held, "payload", bytes(30_000))

    reading = deep_size([held, cls(), {"k": held}])

    assert 30_000 < reading.bytes < 31_500


def test_a_deadline_in_the_past_gives_a_marked_lower_bound():
    assert deep_size([bytes(10)], deadline_s=0.0).truncated


def test_a_deadline_on_the_way_gives_a_lower_bound():
    data = [[i] for i in range(300_000)]
    whole = deep_size(data).bytes

    found = deep_size(data, deadline_s=0.001)

    assert found.truncated
    assert 0 < found.bytes < whole


def test_a_long_chain_is_measured_in_linear_time():
    chain = None
    for _ in range(30_000):
        chain = [chain]

    assert deep_size(chain).bytes == 30_000 * sys.getsizeof([None])


def test_what_names_share_is_counted_once_in_all():
    shared = bytes(10_000)

    sizes = deep_sizes({"a": [shared, bytes(1000)], "b": [shared], "c": [bytes(500)]})

    assert sizes.total_bytes == sum(n.bytes for n in sizes.names.values()) - sys.getsizeof(shared)


def test_measuring_makes_no_instance_dicts():
    kept = plain_objects(10_000)
    deep_size(kept)
    before = sys.getallocatedblocks()

    deep_size(kept)

    assert sys.getallocatedblocks() - before < 200


def test_measured_objects_die_when_the_user_lets_go():
    target = Plain()
    gone = weakref.ref(target)
    deep_size(target)
    deep_sizes({"t": target})

    del target

    assert gone() is None


def test_iterators_and_generators_own_what_they_hold():
    big = bytes(40_000)

    def produce(held):
        yield held

    running = produce(bytes(30_000))
    next(running)

    assert deep_size([itertools.repeat(big)]).bytes > 40_000
    if sys.version_info >= (3, 11):  # before, a generator holds its variables in a frame
        assert deep_size(running).bytes > 30_000


def nested(n):
    return {"lists": [[None, str(i)] for i in range(n)], "by number": {i: (i, [i]) for i in range(n)}}


def in_parts(named, limit_s=0.001):
    sizing = Sizing()
    while not sizing.step(named, limit_s):
        pass
    return sizing


@pytest.mark.parametrize(
    "make",
    [
        lambda: nested(8000),
        lambda: plain_objects(20_000),
        lambda: collections.deque([i] for i in range(70_000)),
        lambda: [np.zeros(10)[:5] for _ in range(20_000)],
        lambda: {str(i): {i} for i in range(70_000)},
        lambda: [[]] * 100_000,
        lambda: collections.OrderedDict((i, [i]) for i in range(70_000)),
    ],
    ids=["nested", "instances", "deque", "views", "dict", "shared", "ordered"],
)
def test_parts_add_up_to_the_whole(make):
    holder = Plain()
    holder.held = [make(), 1]
    whole = deep_size(holder)

    sizing = in_parts({"it": holder})

    found = sizing.sizes()
    assert found.names["it"].bytes == whole.bytes
    assert not found.names["it"].truncated


def test_what_names_share_is_known_after_parts_too():
    shared = [[i] for i in range(20_000)]
    named = {"a": {"shared": shared, "own": [bytes(1000)]}, "b": [shared]}

    assert in_parts(named).sizes().names == deep_sizes(named).names


def test_nothing_is_held_between_parts():
    replay = Plain()
    replay.items = [Record(float(i), [i]) for i in range(60_000)]
    sizing = Sizing()
    assert not sizing.step({"replay": replay}, 0.001)
    seen = [weakref.ref(replay.items[0]), weakref.ref(replay.items[-1]), weakref.ref(replay)]

    del replay

    assert [ref() for ref in seen] == [None] * 3


def test_what_is_gone_between_parts_is_a_marked_lower_bound():
    replay = Plain()
    replay.items = [[i] for i in range(100_000)]
    sizing = Sizing()
    while not (seen := sizing.sizes().names) or seen["replay"].bytes < 10_000:
        assert not sizing.step({"replay": replay}, 0.001)
    replay.items = []

    while not sizing.step({"replay": replay}, 0.001):
        pass

    found = sizing.sizes().names["replay"]
    assert found.truncated
    assert 0 < found.bytes < 100_000 * sys.getsizeof([None])


def test_a_sizing_that_was_interrupted_gives_a_marked_lower_bound():
    sizing = Sizing()
    held = [[i] for i in range(200_000)]
    assert not sizing.step({"held": held}, 0.001)

    found = sizing.sizes().names["held"]

    assert found.truncated
    assert 0 < found.bytes < deep_size(held).bytes


def test_the_time_is_in_proportion_to_the_number_of_items():
    """By the calls that are made for the chunks in Python, since a clock would tell the load of the machine."""

    def n_calls(n):
        seen = []
        data = [[None] for _ in range(n)]
        with passes_in_python():
            sys.setprofile(lambda frame, event, arg: seen.append(event))
            try:
                deep_size(data)
            finally:
                sys.setprofile(None)
        return len(seen)

    n_calls(1000)
    assert n_calls(80_000) <= 2.2 * n_calls(40_000)
