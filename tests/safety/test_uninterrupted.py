"""Ways to look at objects without another thread in between: what they return, and that they leave nothing behind."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

from phaseprof.native.extension import extension
from phaseprof.probes import uninterrupted
from phaseprof.probes.census import count_type_names
from phaseprof.probes.uninterrupted import (
    finished,
    objects_but_tuples,
    pick,
    referrers,
    referrers_of,
    sorted_out,
)


class Thing:
    pass


@pytest.fixture
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


LOOKS: dict[str, Callable[[], object]] = {
    "pick": lambda: pick(gc.get_objects, [Thing, list, dict]),
    "sorted out": lambda: sorted_out(gc.get_objects, [Thing, list, dict], [tuple]),
    "but tuples": objects_but_tuples,
    "finished": lambda: finished(gc.get_objects),
    "referrers": lambda: finished(referrers_of((Thing,))),
}


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("look", LOOKS)
def test_what_was_looked_at_dies_at_once(look: str) -> None:
    """No ring of our own lists and iterators may keep it until a collection."""
    kept = [[Thing()] for _ in range(3)]
    seen = weakref.ref(kept[0][0])

    LOOKS[look]()
    kept.clear()

    assert seen() is None


def test_a_list_does_not_contain_itself() -> None:
    found = pick(gc.get_objects, [list])

    assert not any(one is found for one in found)


def test_objects_are_picked_in_the_order_of_the_list() -> None:
    kept = [Thing() for _ in range(50)]

    assert [o for o in pick(gc.get_objects, [Thing]) if o in kept] == kept


def test_types_and_groups_are_of_one_list() -> None:
    kept = [Thing() for _ in range(7)]

    classes, (things, tuples) = sorted_out(gc.get_objects, [Thing], [tuple])

    assert classes.count(Thing) == len(things) == len(kept)
    assert classes.count(tuple) == len(tuples)


def test_tuples_are_left_out_but_counted() -> None:
    kept = ([], [])

    objects, classes = objects_but_tuples()

    assert tuple in classes
    assert not any(type(o) is tuple for o in objects)
    assert any(o is kept[0] for o in objects)


def test_a_tuple_that_is_being_built_is_left_out() -> None:
    seen = []

    def items() -> Iterator[list[object]]:
        marked: list[object] = ["marked"]
        yield marked
        seen.extend(type(o) for o in referrers((marked,)) if type(o) is tuple)
        yield []

    built = tuple(items())

    assert (len(built), seen) == (2, [])
    assert any(o is built for o in referrers((built[0],)))


def test_the_interval_and_the_collector_are_put_back() -> None:
    before = sys.getswitchinterval(), gc.isenabled()
    seen = uninterrupted.uninterrupted(lambda: (sys.getswitchinterval(), gc.isenabled()))()

    assert seen[0] > before[0]
    assert not seen[1]
    assert (sys.getswitchinterval(), gc.isenabled()) == before


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        uninterrupted.uninterrupted(lambda: None)()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_look_that_raises_puts_everything_back() -> None:
    before = sys.getswitchinterval()

    @uninterrupted.uninterrupted
    def fail() -> None:
        raise KeyError("here")

    with pytest.raises(KeyError):
        fail()

    assert sys.getswitchinterval() == before
    assert gc.isenabled()


def test_a_look_inside_of_a_look_changes_nothing() -> None:
    inner = uninterrupted.uninterrupted(lambda: None)

    @uninterrupted.uninterrupted
    def outer() -> bool:
        before = sys.getswitchinterval()
        inner()
        return sys.getswitchinterval() == before and not gc.isenabled()

    assert outer()


class Alarm(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_signals_that_raise_leave_the_interval_as_it_was() -> None:
    """An alarm may come at any instruction of a look, its beginning and its end among them."""
    before = sys.getswitchinterval()
    look = uninterrupted.uninterrupted(lambda: sum(range(200)))

    def ring(*_: object) -> None:
        raise Alarm

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        for n in range(300):
            with pytest.raises(Alarm):
                # Again after a while: one that comes within somebody's callback of the collector, such as that of
                # hypothesis, ends there.
                signal.setitimer(signal.ITIMER_REAL, 0.00005 + n % 60 * 0.00001, 0.1)
                while True:
                    look()
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert (sys.getswitchinterval(), gc.isenabled()) == (before, True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_no_other_thread_runs_during_a_look() -> None:
    counts = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counts[0] += 1

    @uninterrupted.uninterrupted
    def look() -> tuple[int, int]:
        began = counts[0]
        for _ in range(80):
            sum(range(20_000))
        return began, counts[0]

    thread = threading.Thread(target=count)
    thread.start()
    try:
        looks = [look() for _ in range(9)]
    finally:
        stop.set()
        thread.join()

    # One that waited already when a look began may run within it, and on a busy machine a look may take longer than
    # the interval; with the usual interval it would run in nearly all of them.
    assert sum(after > before for before, after in looks) <= len(looks) // 2
    assert len({before for before, _ in looks}) > 1  # between the looks it did run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_in_a_look_has_the_usual_interval() -> None:
    before = sys.getswitchinterval()

    @uninterrupted.uninterrupted
    def look() -> int:
        return os.fork()

    child = look()
    if child == 0:
        os._exit(0 if sys.getswitchinterval() == before and gc.isenabled() else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.usefixtures("_no_collection")
def test_a_count_is_the_same_inside_and_outside_of_a_look() -> None:
    """What counting makes itself is left out, by whichever way it is made."""
    count_inside = uninterrupted.uninterrupted(count_type_names)
    count_type_names()
    count_inside()

    outside = count_type_names()
    inside = count_inside()

    kinds = ("list", "tuple", "map", "functools.partial", "builtin_function_or_method", "tuple_iterator")
    # In Python a few of the interpreter's own come and go.
    most = 2 if extension() is not None else 5
    for kind in kinds:
        assert abs(inside.get(kind, 0) - outside.get(kind, 0)) <= most, kind
