"""What the program raises while our code runs reaches the program, and what was open then is closed."""

from __future__ import annotations

import ctypes
import functools
import gc
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from phaseprof import Profiler
from phaseprof.interrupts import raise_the_programs

ALARMS = 40
Handler = Callable[[int, "FrameType | None"], object]

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")


class TimeoutOfTheProgram(Exception):
    pass


def plain(number: int, frame: FrameType | None) -> None:
    raise TimeoutOfTheProgram


def deeper(number: int, frame: FrameType | None) -> None:
    plain(number, None)


def takes_anything(*given: object) -> None:
    raise TimeoutOfTheProgram


def once(number: int, frame: FrameType | None) -> None:
    """Is no handler any more when it raises."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    raise TimeoutOfTheProgram


def builtin_error(number: int, frame: FrameType | None) -> None:
    raise ValueError("the program's")


class Watchdog:
    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise TimeoutOfTheProgram

    def bite(self, number: int, frame: FrameType | None) -> None:
        raise TimeoutOfTheProgram


def with_more(extra: object, number: int, frame: FrameType | None) -> None:
    raise TimeoutOfTheProgram


def generations_until_an_alarm(profiler: Profiler, index: int, *, after_s: float) -> None:
    """A function of its own: what is raised as a loop jumps back may miss the ``try`` that the loop lies in."""
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, after_s)
    while time.perf_counter() - began < 5.0:
        generation_of_short_phases(profiler, index)


HANDLERS: list[Handler] = [
    plain, deeper, takes_anything, once, builtin_error, Watchdog(), Watchdog().bite, functools.partial(with_more, "x"),
    signal.default_int_handler,
]  # fmt: skip


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where Python lost an exception, since finalizers and weak references' callbacks cannot raise: none is ours."""
    places: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: places.append(repr(given.object)))
    return places


@pytest.fixture(autouse=True)
def _quiet_afterwards() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    hooks = gc.callbacks[:]  # of test tools: what is raised inside one is lost, whoever is being tested
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = hooks
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def generation_of_short_phases(profiler: Profiler, index: int) -> None:
    @profiler.phase("decorated")
    def work() -> int:
        return sum(range(200))

    with profiler.generation(index):
        for _ in range(5):
            with profiler.phase("train"):
                profiler.checkpoint("inside")
                work()


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: getattr(handler, "__name__", type(handler).__name__))
@pytest.mark.parametrize("budget", [0.02, 1.0])
def test_an_alarm_at_any_moment_reaches_the_program(handler: Handler, budget: float, lost: list[str]) -> None:
    profiler = Profiler(None, budget=budget)
    chance = random.Random(1)
    heap = [[i] for i in range(20_000)]
    n_raised = 0
    for index in range(ALARMS):
        signal.signal(signal.SIGALRM, handler)
        try:
            generations_until_an_alarm(profiler, index, after_s=0.0005 + chance.random() * 0.003)
        except (TimeoutOfTheProgram, ValueError, KeyboardInterrupt):
            n_raised += 1

    signal.setitimer(signal.ITIMER_REAL, 0)
    lost = [place for place in lost if "_io." not in place and "Iterator" not in place]  # files left to be closed
    assert n_raised + len(lost) >= ALARMS and len(lost) <= 2
    assert not [place for place in lost if "phaseprof" in place]
    assert profiler._session.current_phase is None
    before = profiler._session.ordinal
    generation_of_short_phases(profiler, 0)
    assert profiler._session.ordinal == before + 1
    assert not [note for note in profiler._model().notes if "reading failed" in note or "not counted" in note]
    assert len(heap) == 20_000
    profiler.close()


def test_an_error_of_our_own_is_none_of_the_programs() -> None:
    try:
        raise ZeroDivisionError("ours")
    except ZeroDivisionError as error:
        raise_the_programs(error)


def test_what_another_thread_throws_in_reaches_the_program(lost: list[str]) -> None:
    """As libraries do that stop a thread when its time is up: an exception appears between two instructions."""
    profiler = Profiler(None, budget=1.0)
    caught: list[type] = []

    def program() -> None:
        index = 0
        try:
            while True:
                generation_of_short_phases(profiler, index)
                index += 1
        except TimeoutOfTheProgram as error:
            caught.append(type(error))

    for _ in range(10):
        thread = threading.Thread(target=program)
        thread.start()
        for _ in range(100):  # again where it fell into a finalizer of the interpreter's own, which loses it
            time.sleep(0.005)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeoutOfTheProgram)
            )
            thread.join(timeout=5)
            if not thread.is_alive():
                break
        assert not thread.is_alive()

    assert caught == [TimeoutOfTheProgram] * 10
    assert not [place for place in lost if "phaseprof" in place]
    assert not [note for note in profiler._model().notes if "reading failed" in note]
    profiler.close()


@pytest.mark.parametrize("is_decorated", [False, True])
def test_after_a_recursion_without_end_phases_and_generations_go_on(is_decorated: bool) -> None:
    profiler = Profiler(None)

    def with_block(depth: int) -> None:
        with profiler.phase("deep"):
            with_block(depth + 1)

    @profiler.phase("deep")
    def decorated(depth: int) -> None:
        decorated(depth + 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        for _ in range(3):
            with pytest.raises(RecursionError):
                (decorated if is_decorated else with_block)(0)
    finally:
        sys.setrecursionlimit(limit)

    assert profiler._session.current_phase is None
    before = profiler._session.ordinal
    for _ in range(5):
        with profiler.generation(), profiler.phase("train"):
            pass
    assert profiler._session.ordinal == before + 5
    profiler.close()


def test_a_generator_that_is_dropped_closes_its_phase() -> None:
    profiler = Profiler(None, min_generation_s=0)

    def batches() -> Iterator[int]:
        with profiler.phase("load"):
            yield 1
            yield 2

    for _ in range(3):
        loader = batches()
        next(loader)
        assert profiler._session.current_phase == "load"
        del loader
        gc.collect()
        assert profiler._session.current_phase is None
    profiler.close()


def test_a_generation_whose_end_was_lost_is_over_when_its_block_is() -> None:
    profiler = Profiler(None)
    scope = profiler.generation(0)
    scope.__enter__()
    del scope  # as if the interrupt had come before ``__exit__`` did anything

    with profiler.generation(1):
        pass

    assert profiler._session.ordinal == 1
    assert not profiler._model().notes
    profiler.close()
