"""Of many allocations some are traced, each with the number that it stands for; none is lost, and none is left over."""

from __future__ import annotations

import _tracemalloc
import linecache
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.native.extension import Tracing, tracing

FRAMES, OF_A_SIZE, MOST = 27, 512, 24_576


class Item:
    __slots__ = ("a", "b", "c", "d", "e")


class WithDict:
    def __init__(self) -> None:
        self.a = 1


@pytest.fixture
def native() -> Iterator[Tracing]:
    found = tracing()
    if found is None or _tracemalloc.is_tracing():
        pytest.skip("the extension is not there, or something traces already")
    yield found
    _tracemalloc.stop()
    found.end()


def ask(native: Tracing, objects: list[Any]) -> tuple[list[Any], np.ndarray]:
    read = _tracemalloc._get_object_traceback
    traces, weights = native.traces(read, objects, np.arange(len(objects)).tobytes(), False)
    return traces, np.frombuffer(weights, np.uint64)


@pytest.mark.parametrize("cls", [Item, WithDict, list, dict, set])
def test_the_weights_of_those_that_are_traced_add_up_to_about_all(native: Tracing, cls: type) -> None:
    native.start(_tracemalloc.start, FRAMES)
    made = [cls() for _ in range(20_000)]
    traces, weights = ask(native, made)

    is_traced = np.array([trace is not None for trace in traces])

    assert OF_A_SIZE <= is_traced.sum() <= 5_000
    assert float(weights[is_traced].sum()) == pytest.approx(20_000, rel=0.4)
    assert weights.min() >= 1


def test_the_first_of_each_size_are_all_traced(native: Tracing) -> None:
    made: list[Any] = [None] * 200
    native.start(_tracemalloc.start, FRAMES)
    for n in range(100):
        made[n] = Item()
    for n in range(100, 200):
        made[n] = bytes(3000 + n)
    traces, weights = ask(native, made)

    assert None not in traces
    assert (weights == 1).all()


def test_what_comes_in_turns_is_met_alike(native: Tracing) -> None:
    """A step that is fixed would meet only one of two lines that take turns."""
    native.start(_tracemalloc.start, FRAMES)
    made: list[Any] = []
    for _ in range(20_000):
        made.append(Item())  # one
        made.append(Item())  # the other
    traces, weights = ask(native, made)

    lines: dict[int, int] = {}
    for trace, weight in zip(traces, weights.tolist(), strict=True):
        if trace is not None:
            lines[trace[0][1]] = lines.get(trace[0][1], 0) + weight

    one, other = lines.values()
    assert 0.6 < one / other < 1.6


def test_there_is_an_end_to_the_number_of_traces(native: Tracing) -> None:
    made: list[Any] = []
    native.start(_tracemalloc.start, FRAMES)
    for n in range(600):  # of each size those that are all traced
        made += [bytes(n) for _ in range(OF_A_SIZE)]
    traces, _ = ask(native, made)

    assert 0.5 * MOST < len(traces) - traces.count(None) <= MOST


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), n=st.integers(500, 8_000))
def test_whatever_is_made_enlarged_and_freed_the_trace_is_of_what_lies_there(seed: int, n: int) -> None:
    found = tracing()
    if found is None or _tracemalloc.is_tracing():
        pytest.skip("the extension is not there, or something traces already")
    chance = random.Random(seed)
    kept: list[Any] = [None] * 64
    found.start(_tracemalloc.start, FRAMES)
    try:
        for _ in range(n):
            at = chance.randrange(64)
            kind = chance.randrange(4)
            if kind == 0:
                kept[at] = Item()  # an item
            elif kind == 1:
                kept[at] = [0] * chance.randrange(1, 300)  # a list
            elif kind == 2 and type(kept[at]) is list:
                kept[at] += range(chance.randrange(200))
            else:
                kept[at] = None
        traces, _ = ask(found, kept)
    finally:
        _tracemalloc.stop()
        found.end()

    here = test_whatever_is_made_enlarged_and_freed_the_trace_is_of_what_lies_there.hypothesis.inner_test  # type: ignore[attr-defined]
    first = here.__code__.co_firstlineno
    for thing, trace in zip(kept, traces, strict=True):
        if trace is not None and type(thing) in (Item, list):
            file, line = trace[0]
            assert file == __file__
            assert line > first
            text = linecache.getline(file, line)
            assert ("an item" if type(thing) is Item else "a list") in text


def test_tracing_can_begin_again_and_the_table_goes(native: Tracing) -> None:
    for _ in range(3):
        native.start(_tracemalloc.start, FRAMES)
        made = [Item() for _ in range(10)]
        assert None not in ask(native, made)[0]
        _tracemalloc.stop()
        native.end()

    assert ask(native, made)[0] == [None] * 10


def test_a_second_start_changes_nothing(native: Tracing) -> None:
    """Two threads may begin at once."""
    native.start(_tracemalloc.start, FRAMES)
    native.start(_tracemalloc.start, FRAMES)
    native.end()  # nothing happens while it goes on

    made = [Item() for _ in range(10)]
    assert None not in ask(native, made)[0]


def test_a_start_that_fails_leaves_the_allocators_as_they_were(native: Tracing) -> None:
    def fail(_: int) -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        native.start(fail, FRAMES)

    assert not _tracemalloc.is_tracing()
    native.start(_tracemalloc.start, FRAMES)
    assert None not in ask(native, [Item()])[0]


def test_what_the_program_traces_itself_is_read_with_weights_of_one(native: Tracing) -> None:
    _tracemalloc.start(3)
    made = [Item() for _ in range(500)]

    traces, weights = ask(native, made)

    assert None not in traces
    assert (weights == 1).all()


def test_memory_that_runs_out_is_an_error_of_python_and_no_more(native: Tracing) -> None:
    native.start(_tracemalloc.start, FRAMES)
    kept = [0]
    with pytest.raises(MemoryError):
        kept * (sys.maxsize // 8)
    with pytest.raises(MemoryError):
        bytearray(sys.maxsize - 100)

    assert kept == [0]
    assert None not in ask(native, [Item()])[0]


def test_a_pause_traces_nothing_more_and_forgets_what_goes(native: Tracing) -> None:
    native.start(_tracemalloc.start, FRAMES)
    kept, gone = Item(), Item()
    native.pause()
    before = len(native.blocks()) // 8
    del gone
    later = [Item() for _ in range(100)]

    traces, _ = ask(native, [kept, *later])

    assert traces[0] is not None
    assert not any(traces[1:])
    assert before - 8 <= len(native.blocks()) // 8 < before


def test_a_new_start_ends_the_pause(native: Tracing) -> None:
    native.start(_tracemalloc.start, FRAMES)
    native.pause()
    _tracemalloc.stop()
    native.end()
    assert native.blocks() == b""

    native.start(_tracemalloc.start, FRAMES)
    traces, _ = ask(native, [Item()])

    assert traces[0] is not None
