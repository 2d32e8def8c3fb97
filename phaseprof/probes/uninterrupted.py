"""Look at a program's objects while no other thread runs.

A reference too many is felt.  A tuple that another thread builds (``tuple(generator)``) can no longer be resized, an
array refuses ``resize``, and what a thread has just deleted lives on.  So none may be held when another thread runs.
CPython hands over between two instructions of a Python function, never inside a function written in C.  Hence two ways:

- ``in_one_call`` runs a chain of C functions as one call.  Nothing can run in between, whatever the other threads do.
  Listing, counting and picking by type are done so.
- ``uninterrupted`` is for longer looks, which need Python.  It asks the interpreter not to hand over for as long as the
  look takes.  Whoever uses it drops every object before it returns, and calls nothing that releases the interpreter.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import time
from _thread import _count as count_other_threads
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import compress, starmap
from operator import eq, is_, is_not, methodcaller
from typing import Any, TypeVar, cast

__all__ = [
    "finished",
    "in_one_call",
    "objects_but_tuples",
    "pick",
    "pick_values",
    "referrers_of",
    "types_of",
    "uninterrupted",
]

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])
Source = Callable[[], "Iterable[Any]"]

_call: Callable[[Callable[[], Any]], Any] = methodcaller("__call__")
# From 3.12 on a collection begins between two instructions; before, inside of any call that makes a container.
_COLLECTS_INSIDE_CALLS = sys.version_info < (3, 12)

# The switch interval while a look lasts: a few times what it took before, within these bounds.  A thread that computes
# without a pause may keep the interpreter for as long, once, before the look begins.
_FIRST_S, _SHORTEST_S, _LONGEST_S, _TIMES = 0.1, 0.02, 2.5, 3.0
# Given to threads that wait already, since they count the old interval: enough for one of them to wake up.
_SETTLE_S = 0.0005
# With more threads than these the wait before a look could add up to seconds; the look then goes without.
_MANY_THREADS = 16


def in_one_call(*steps: Callable[[], object]) -> None:
    """Run functions that are written in C, one after the other, as one call of the interpreter.

    Args:
        steps: callables without arguments; a ``partial`` of a C function is one.  An iterator among the arguments is
            read when its step comes, so a step may work on a list that an earlier one fills.

    Cost: 0.2 µs a step.
    """
    if _COLLECTS_INSIDE_CALLS and gc.isenabled():
        try:
            deque(map(_call, (gc.disable, *steps, gc.enable)), maxlen=0)
        except BaseException:
            gc.enable()
            raise
    else:
        deque(map(_call, steps), maxlen=0)


def filling(target: list[Any], source: Source) -> Callable[[], object]:
    """Return a step for ``in_one_call`` that fills a list with what a C function returns."""
    return partial(any, map(target.extend, map(_call, (source,))))


def referrers_of(targets: tuple[object, ...]) -> Source:
    """Return a source of what refers to some objects; the tuple itself is not among it.

    Cost: 15 to 70 ns for each object of the heap, by the number of targets.
    """
    # A tuple is handed over as it is; any other call makes one more, which the collector then finds.
    return partial(next, starmap(gc.get_referrers, (targets,)))


def types_of(source: Source) -> list[type]:
    """Return the exact type of each object that a C function lists, such as ``gc.get_objects``.

    Cost: 25 ns an object, 8 bytes each.
    """
    found: list[type] = []
    in_one_call(filling(found, partial(next, map(partial(map, type), map(_call, (source,))))))
    return found


def pick(source: Source, wanted: Iterable[type]) -> list[object]:
    """Return those objects of a list that have one of some exact types; the caller drops them.

    Args:
        source: C function that returns the list.
        wanted: the types; ``tuple`` among them only where the caller knows that no thread is building one.

    Cost: 60 ns an object of the list.
    """
    listed: list[object] = []
    chosen: list[object] = []
    try:
        in_one_call(filling(listed, source), partial(chosen.extend, _of_types(listed, wanted)), listed.clear)
    finally:
        listed.clear()
    return chosen


def pick_values(source: Source, wanted: Iterable[type], *reads: Callable[[Any], Any]) -> list[list[Any]]:
    """Return what C functions such as ``id`` and ``len`` say of the objects of some exact types, and no object.

    Args:
        source: C function that returns a list of objects.
        wanted: the types.
        reads: the functions; one that raises ends the call with its exception.

    Returns:
        A list for each of the functions, all in the same order.
    Cost: 60 ns an object of the list, and each function's own for each chosen one.
    """
    listed: list[object] = []
    chosen: list[object] = []
    values: list[list[Any]] = [[] for _ in reads]
    reading = [partial(into.extend, map(read, chosen)) for into, read in zip(values, reads, strict=True)]
    try:
        in_one_call(
            filling(listed, source),
            partial(chosen.extend, _of_types(listed, wanted)),
            listed.clear,
            *reading,
            chosen.clear,
        )
    finally:
        listed.clear()
        chosen.clear()
    return values


def _of_types(listed: list[object], wanted: Iterable[type]) -> Iterable[object]:
    """Return an iterator over the objects of exact types that a list will hold when it is read."""
    ids = frozenset(map(id, wanted))
    return compress(listed, map(ids.__contains__, map(id, map(type, listed))))


def objects_but_tuples(source: Source = gc.get_objects) -> tuple[list[object], list[type]]:
    """List objects without exact tuples, and the types of all of them, tuples included.

    A tuple that a thread is building is in the collector's list and nowhere else.  A finished one is found through
    what holds it.

    Returns:
        The objects, which the caller drops, and the types; the two lists are not parallel.
    Cost: 60 ns an object.
    """
    listed: list[object] = []
    classes: list[type] = []
    objects: list[object] = []
    try:
        in_one_call(
            filling(listed, source),
            partial(classes.extend, map(type, listed)),
            partial(objects.extend, compress(listed, map(partial(is_not, tuple), classes))),
            listed.clear,
        )
    finally:
        listed.clear()
    return objects, classes


def finished(source: Source) -> list[object]:
    """List objects without those tuples that are not filled to the end: a thread may be building them.

    Cost: 60 ns an object, 150 a tuple.
    """
    listed: list[object] = []
    tuples: list[tuple[object, ...]] = []
    found: list[object] = []
    filled = map(eq, map(len, tuples), map(len, map(gc.get_referents, tuples)))
    try:
        in_one_call(
            filling(listed, source),
            partial(tuples.extend, cast("Any", compress(listed, map(partial(is_, tuple), map(type, listed))))),
            partial(found.extend, compress(listed, map(partial(is_not, tuple), map(type, listed)))),
            listed.clear,
            partial(found.extend, compress(tuples, filled)),
            tuples.clear,
        )
    finally:
        listed.clear()
        tuples.clear()
    return found


def uninterrupted(function: Function) -> Function:
    """Make a function run without a switch to another thread, as long as it calls nothing that waits.

    The switch interval is raised and the collector stopped for the time of the call; both are put back whatever
    happens, also when a signal's handler raises in between.  Inside such a call another one changes nothing.
    Threads that wait meanwhile get the interpreter as soon as it returns.

    The function drops every object of the program before it returns, but for what its caller handed in.
    """
    longest_s = _FIRST_S / _TIMES

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal longest_s
        if _pass.thread:  # ours, or another thread's that was made to wait: only one may change the interval
            return function(*args, **kwargs)
        timed = _Timed(function)
        try:
            return _hold(partial(timed, *args, **kwargs), min(max(_TIMES * longest_s, _SHORTEST_S), _LONGEST_S))
        finally:
            longest_s = max(longest_s / 2, timed.took_s)

    return cast("Function", call)


class _Timed:
    """Calls a function and keeps how long it computed: waiting for other threads before it does not count."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.took_s = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        began = time.thread_time()
        try:
            return self._function(*args, **kwargs)
        finally:
            self.took_s = time.thread_time() - began


class _Pass:
    """The pass that is under way in this process: in which thread (0: none is), and what puts everything back."""

    thread = 0
    restore: Callable[[], object] = staticmethod(int)


_pass = _Pass()


def _after_fork() -> None:
    """In a child that another thread forked in the midst of a pass: nobody is there to end it."""
    if _pass.thread not in (0, get_ident()):
        _pass.thread = 0
        _pass.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _hold(work: Callable[[], Result], window_s: float) -> Result:
    before_s = sys.getswitchinterval()
    back: list[Callable[[], object]] = [partial(sys.setswitchinterval, before_s)]
    if gc.isenabled():
        back.append(gc.enable)
    _pass.restore = partial(in_one_call, *back)
    ending = map(_call, back)
    others = count_other_threads()
    try:
        _pass.thread = get_ident()
        gc.disable()
        if others <= _MANY_THREADS:
            sys.setswitchinterval(max(window_s, before_s))
        if others:
            time.sleep(_SETTLE_S)
        return work()
    finally:
        # One call of a C function: a signal's handler, which may raise, runs after it.
        _pass.thread = 0
        deque(ending, 0)
        if others:
            time.sleep(0)  # those who wait count the long interval; offered the interpreter, they count the usual one
