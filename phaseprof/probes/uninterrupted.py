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
from _thread import LockType, allocate_lock, get_ident, start_new_thread
from _thread import _count as count_other_threads
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, compress, starmap
from operator import eq, is_, is_not, methodcaller
from typing import Any, TypeVar, cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.native import looking

__all__ = [
    "call_that_waits",
    "finished",
    "in_one_call",
    "objects_but_tuples",
    "pick",
    "referrers",
    "referrers_of",
    "sorted_out",
    "uninterrupted",
]

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])
Source = Callable[[], "Iterable[Any]"]

_call: Callable[[Callable[[], Any]], Any] = methodcaller("__call__")
# From 3.12 on a collection begins between two instructions; before, inside of any call that makes a container.
_COLLECTS_INSIDE_CALLS = sys.version_info < (3, 12)

# As measured: how many more tuples the collector lists in a function that is called with ``*args``.
_TUPLES_OF_A_CALL = 1 if sys.version_info >= (3, 12) else 0
# The switch interval while a look lasts.  A longer one is interrupted; threads that began to wait meanwhile, and a look
# that lets go of the interpreter after all, may have to wait for as long, if the others compute without a pause.  Where
# passes are in C, only what they hand out is held, which takes a fraction of a second.
_LONG_S, _LONG_IN_C_S = 2.0, 0.25
# For a thread that waits to wake up and take over, where no thread of our own can be had for that.
_SETTLE_S = 0.005


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


class _Hands(dict[str, "list[Any]"]):
    """Lists that the steps of one call make and read, by name.

    None of them exists before its step, so that the collector's list contains neither itself nor another one of them:
    such a ring would keep the program's objects until the next collection.
    """

    def make(self, name: str, items: Iterable[Any]) -> Callable[[], object]:
        """Return a step that makes a list of what an iterator gives."""
        return partial(any, map(partial(self.__setitem__, name), map(list, (items,))))

    def fill(self, name: str, source: Source) -> Callable[[], object]:
        """Return a step that keeps the list that a C function makes."""
        return partial(any, map(partial(self.__setitem__, name), map(_call, (source,))))

    def read(self, name: str) -> Iterable[Any]:
        """Return an iterator over a list that an earlier step makes."""
        return chain.from_iterable(map(self.__getitem__, (name,)))

    def chosen(self, name: str, are_wanted: Iterable[object]) -> Iterable[Any]:
        """Return an iterator over those items of such a list for which another iterator gives a true value."""
        # One item more, so that the other one is read to its end, too: it would go on to hold what it reads from.
        return compress(chain(self.read(name), (None,)), are_wanted)

    def of_types(self, name: str, wanted: Iterable[type]) -> Iterable[Any]:
        """Return an iterator over the objects of exact types in such a list."""
        ids = frozenset(map(id, wanted))
        return self.chosen(name, map(ids.__contains__, map(id, map(type, self.read(name)))))

    def drop(self, name: str) -> Callable[[], object]:
        """Return a step that lets go of a list."""
        return partial(self.__delitem__, name)


def referrers_of(targets: tuple[object, ...]) -> Source:
    """Return a source of what refers to some objects; from Python 3.13 on the tuple itself is among it.

    Cost: 15 to 70 ns for each object of the heap, by the number of targets.
    """
    # A tuple is handed over as it is; any other call makes one more, which the collector then finds.
    return partial(next, starmap(gc.get_referrers, (targets,)))


def pick(source: Source, wanted: Iterable[type]) -> list[Any]:
    """Return those objects of a list that have one of some exact types; the caller drops them.

    Args:
        source: C function that returns the list.
        wanted: the types; ``tuple`` among them only where the caller knows that no thread is building one.

    Cost: 60 ns an object of the list.
    """
    hands = _Hands()
    try:
        in_one_call(hands.fill("all", source), hands.make("chosen", hands.of_types("all", wanted)), hands.drop("all"))
        return hands["chosen"]
    finally:
        hands.clear()


def sorted_out(source: Source, *groups: Iterable[type]) -> tuple[list[type], list[list[Any]]]:
    """Return the types of all objects that a C function lists, and the objects of some types.

    Args:
        source: C function that returns a list of objects.
        groups: groups of exact types.

    Returns:
        The types, and for each group its objects in order; the caller drops them.
    Cost: 40 ns an object, and 40 for each group; 16 bytes an object while it runs.
    """
    hands = _Hands()
    names = [f"group {number}" for number in range(len(groups))]
    ids = [frozenset(map(id, group)) for group in groups]
    picks = (
        hands.make(name, hands.chosen("all", map(group.__contains__, map(id, hands.read("types")))))
        for name, group in zip(names, ids, strict=True)
    )
    try:
        in_one_call(
            hands.fill("all", source),
            hands.make("types", map(type, hands.read("all"))),
            *picks,
            hands.drop("all"),
        )
        return hands["types"], [hands[name] for name in names]
    finally:
        hands.clear()


def objects_but_tuples() -> tuple[list[Any], list[type]]:
    """List objects without exact tuples, and the types of all of them, tuples included.

    A tuple that a thread is building is in the collector's list and nowhere else.  A finished one is found through
    what holds it.

    Returns:
        The objects, which the caller drops, and the types; the two lists are not parallel.
    Cost: 70 ns an object.
    """
    hands = _Hands()
    try:
        in_one_call(
            hands.fill("all", gc.get_objects),
            hands.make("types", map(type, hands.read("all"))),
            hands.make("others", hands.chosen("all", map(partial(is_not, tuple), hands.read("types")))),
            hands.drop("all"),
        )
        return hands["others"], hands["types"]
    finally:
        hands.clear()


def finished(source: Source) -> list[Any]:
    """List objects without those tuples that are not filled to the end: a thread may be building them.

    Cost: 70 ns an object, 150 a tuple.
    """
    hands = _Hands()
    is_tuple = map(partial(is_, tuple), map(type, hands.read("all")))
    is_other = map(partial(is_not, tuple), map(type, hands.read("all")))
    try:
        in_one_call(
            hands.fill("all", source),
            hands.make("tuples", hands.chosen("all", is_tuple)),
            hands.make("others", hands.chosen("all", is_other)),
            hands.drop("all"),
            hands.make("lengths", map(len, hands.read("tuples"))),
            hands.make("items", map(len, map(gc.get_referents, hands.read("tuples")))),
            hands.make("filled", hands.chosen("tuples", map(eq, hands.read("lengths"), hands.read("items")))),
            hands.drop("tuples"),
        )
        return hands["others"] + hands["filled"]
    finally:
        hands.clear()


def referrers(targets: tuple[object, ...]) -> list[Any]:
    """List what refers to some objects, without tuples that a thread may be building.

    Args:
        targets: the objects; this tuple is not listed, other containers of the caller's are.

    Cost: 25 ns for each object of the heap in C; in Python that of ``referrers_of``, and 70 ns a referrer.
    """
    in_c = looking.referrers(targets)
    if in_c is not None:
        return in_c
    return [found for found in finished(referrers_of(targets)) if found is not targets]


def uninterrupted(function: Function) -> Function:
    """Make a function run without a switch to another thread, as long as it calls nothing that waits.

    The switch interval is raised and the collector stopped for the time of the call; both are put back whatever
    happens, also when a signal's handler raises in between.  Inside such a call another one changes nothing.
    Threads that wait meanwhile get the interpreter as soon as it returns.

    The function drops every object of the program before it returns, but for what its caller handed in.

    Cost: 5 µs; where there are other threads 0.1 ms, and the turn of one that waits.
    """
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _pass.thread:  # ours, or another thread's that was made to wait: only one may change the interval
            return function(*args, **kwargs)
        return _hold(function, args, kwargs)

    return cast("Function", call)


class _Pass:
    """The look that is under way: its thread (0: there is none), what puts the interval back, and its own tuples."""

    __slots__ = ("restore", "thread", "tuples")

    def __init__(self) -> None:
        self.thread = 0
        self.restore: Callable[[], object] = int
        self.tuples: deque[tuple[Any, ...]] = deque()


_pass = _Pass()


def _after_fork() -> None:
    """In a child that another thread forked in the midst of a pass: nobody is there to end it."""
    if _pass.thread not in (0, get_ident()):
        _pass.thread = 0
        _pass.restore()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def made_by_a_look() -> Counter[type]:
    """Return what a look that is under way has made itself, so that a count can leave it out: see ``_hold``."""
    if not _pass.thread:
        return Counter()
    tuples = filter(gc.is_tracked, filter(len, _pass.tuples))  # the empty one is everybody's
    return Counter([partial, map, type(iter(())), *map(type, tuples), *[tuple] * _TUPLES_OF_A_CALL])


def _hold(function: Callable[..., Result], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
    before_s = sys.getswitchinterval()
    first = partial(sys.setswitchinterval, before_s)
    back: tuple[Callable[[], Any], ...] = (first, gc.enable if gc.isenabled() else gc.disable)
    ending = map(_call, back)
    others = count_other_threads()
    _pass.restore = first
    _pass.tuples.extend((first.args, back, args))
    try:
        _pass.thread = get_ident()
        gc.disable()
        # A thread that begins to wait for the interpreter counts the interval of that moment, and one that waits asks
        # for nothing if the interpreter has changed hands since.  So it is given away once, and as soon as it is back,
        # before whoever had it can begin to wait, the interval is raised.
        in_one_call(*_handing_over() if others else (), partial(sys.setswitchinterval, _long_s()))
        return function(*args, **kwargs)
    finally:
        # One call of a C function: a signal's handler, which may raise, runs after it.
        _pass.thread = 0
        deque(ending, 0)
        _pass.tuples.clear()
        _pass.restore = int
        if others:
            time.sleep(0)  # those who wait count the long interval; offered the interpreter, they count the usual one


def _long_s() -> float:
    return _LONG_IN_C_S if looking.is_available() else _LONG_S


def _handing_over() -> tuple[Callable[[], object], ...]:
    """Return steps after which another thread has had the interpreter: one of our own, if nobody else wants it."""
    lock = allocate_lock()
    lock.acquire()
    return partial(_start_or_sleep, lock), lock.acquire


def _start_or_sleep(lock: LockType) -> None:
    try:
        start_new_thread(lock.release, ())
    except RuntimeError as error:  # no more threads are to be had
        raise_the_programs(error)
        lock.release()
        time.sleep(_SETTLE_S)


def call_that_waits(function: Callable[..., Result], *args: object) -> Result:
    """Call a C function that lets other threads run, in the midst of a look: they get no more than their usual time.

    Cost: 1 µs.
    """
    if not (_pass.thread and count_other_threads()):
        return function(*args)
    found: list[Result] = []
    in_one_call(
        _pass.restore,
        partial(any, map(found.append, starmap(function, (args,)))),
        partial(sys.setswitchinterval, _long_s()),
    )
    return found.pop()
