"""Other threads of the program feel nothing of a look: not in their tuples, arrays, locals, nor in what they drop."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from phaseprof.native.extension import extension
from phaseprof.native.places import members, read_places
from phaseprof.native.table import OUTSIDE
from phaseprof.probes import arrays, census, large, sizes
from phaseprof.probes.holders import find_holders

LOOKS: dict[str, Callable[[], object]] = {
    "census": census.count_types,
    "watched": lambda: census.counts_in_order([Sample, tuple, list]),
    "arrays": arrays.count_arrays,
    "large": lambda: large.large_objects(1 << 30),
    "holders": lambda: find_holders([Sample.kept], deadline_s=0.2),
    "sizes": lambda: sizes.deep_sizes({"kept": Sample.kept, "heap": HEAP}),
    "places": lambda: read_places({"kept": Sample.kept, "heap": HEAP}),
}
N_LOOKS = 2
# A thread that waited for the interpreter already when a look in Python began may get one turn within it, in which it
# may meet a reference of ours.  A look in C is one call: nobody gets a turn within it.
FELT_AT_MOST = 0 if extension() is not None else N_LOOKS


class Sample:
    kept: list[Sample] = []  # noqa: RUF012 - what the search asks about

    def __init__(self, number: int) -> None:
        self.number = number


HEAP = [[(number, str(number))] for number in range(5_000)]


def build_tuples() -> None:
    assert len(tuple(Sample(number).number for number in range(300))) == 300
    assert len(tuple(sample for sample in Sample.kept for _ in range(40))) == 40 * len(Sample.kept)


def resize_arrays() -> None:
    array = np.zeros(10)
    for number in range(20):
        array.resize(10 + number)


def let_go() -> None:
    kept = [Sample(0)]
    seen = weakref.ref(kept[0])
    kept.clear()
    assert seen() is None


def call_functions() -> None:
    def inner(a: int, b: int) -> int:
        c = a + b
        parts = [c, a, b]
        return sum(parts) + c

    for _ in range(20):
        assert inner(1, 2) == 9


class Worker(threading.Thread):
    """Does a job over and over, and keeps what went wrong each time."""

    def __init__(self, job: Callable[[], None], *, is_traced: bool = False) -> None:
        super().__init__()
        self.errors: list[BaseException] = []
        self.n_done = 0
        self._job, self._is_traced, self._ended = job, is_traced, threading.Event()

    def run(self) -> None:
        if self._is_traced:
            sys.settrace(_trace)
        while not self._ended.is_set():
            try:
                self._job()
                self.n_done += 1
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test names it
                self.errors.append(error)

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self.join()


def _trace(frame: types.FrameType, event: str, arg: object) -> Callable[..., object]:
    return _trace


@pytest.fixture
def _samples() -> Iterator[None]:
    Sample.kept = [Sample(number) for number in range(5)]
    yield
    Sample.kept = []


@pytest.mark.usefixtures("_samples")
@pytest.mark.parametrize("job", [build_tuples, resize_arrays, let_go, call_functions])
@pytest.mark.parametrize("look", LOOKS)
def test_a_thread_at_work_feels_nothing(look: str, job: Callable[[], None]) -> None:
    LOOKS[look]()
    with Worker(job) as one, Worker(job, is_traced=job is call_functions) as other:
        for _ in range(N_LOOKS):
            LOOKS[look]()

    assert len(one.errors) <= FELT_AT_MOST, one.errors
    assert len(other.errors) <= FELT_AT_MOST, other.errors
    assert one.n_done
    assert other.n_done


@pytest.mark.usefixtures("_samples")
def test_a_generator_that_looks_may_feed_a_tuple() -> None:
    """The look is made in the midst of building the tuple, by the very thread that does it."""

    def items() -> Iterator[int]:
        for number in range(30):
            if number % 10 == 0:
                arrays.count_arrays()
                census.count_types()
                find_holders([Sample.kept], deadline_s=0.2)
            yield number

    assert tuple(items()) == tuple(range(30))


def test_a_tuple_that_is_being_built_is_no_member_of_a_place() -> None:
    handed_out: list[object] = []

    def items() -> Iterator[int]:
        for number in range(300):
            if number == 150:
                table = read_places()
                outside = {place for place, root in table.roots.items() if root.kind == OUTSIDE}
                handed_out.append(members(outside)[0])
            yield number

    assert tuple(items()) == tuple(range(300))
    assert handed_out


def test_many_threads_at_once_feel_nothing() -> None:
    workers = [Worker(build_tuples) for _ in range(5)]
    for worker in workers:
        worker.start()
    try:
        arrays.count_arrays()
        census.count_types()
    finally:
        for worker in workers:
            worker.__exit__()

    assert all(len(worker.errors) <= FELT_AT_MOST for worker in workers), [worker.errors for worker in workers]


def test_the_collector_is_on_again_after_every_look() -> None:
    for look in LOOKS.values():
        look()

    assert gc.isenabled()
