"""Locals of running functions are read, and nothing is written into their frames."""

from __future__ import annotations

import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from phaseprof.native.places import read_places, resolve
from phaseprof.probes import arrays, walk
from phaseprof.probes import locals as frame_locals
from phaseprof.probes.holders import find_holders
from phaseprof.probes.locals import local_values


class Batch:
    pass


def here() -> types.FrameType:
    return sys._getframe(1)


def test_locals_are_read_by_name() -> None:
    def outer(given: int, *rest: int, only: int = 3, **named: int) -> dict[str, object]:
        gone = [1]
        if only > 3:
            never = gone
            assert never

        def inner() -> int:
            return given

        del gone
        assert inner() == given
        return dict(local_values(here()) or ())

    found = outer(1, 2, named=4)

    assert [found[name] for name in ("given", "rest", "only", "named")] == [1, (2,), 3, {"named": 4}]
    assert {"gone", "never"}.isdisjoint(found)


def test_suspended_generators_are_read() -> None:
    def items() -> Iterator[int]:
        held = [7]
        yield 1
        assert held

    running = items()
    assert local_values(running.gi_frame) == []

    next(running)

    assert local_values(running.gi_frame) == [("held", [7])]


LOOKS: dict[str, Callable[[], object]] = {
    "local values": lambda: local_values(here().f_back),
    "running locals": walk.running_locals,
    "arrays": arrays.count_arrays,
    "holders": lambda: find_holders([[]]),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_dict_of_locals_that_the_program_keeps_is_left_alone(look: str) -> None:
    kept = locals()
    before = dict(kept)
    batch = Batch()
    seen = weakref.ref(batch)

    LOOKS[look]()
    names = set(kept)
    del batch

    assert names == set(before)
    assert seen() is None


@pytest.mark.parametrize("look", LOOKS)
def test_a_local_dies_when_it_is_deleted(look: str) -> None:
    batch = Batch()
    seen = weakref.ref(batch)

    LOOKS[look]()
    del batch

    assert seen() is None


@pytest.mark.parametrize("look", LOOKS)
def test_a_traced_function_keeps_its_locals(look: str) -> None:
    events = []

    def trace(frame: types.FrameType, event: str, arg: object) -> Callable[..., object]:
        events.append(event)
        if event == "line" and frame.f_code.co_name == "work":
            LOOKS[look]()
        return trace

    def work(a: int, b: int) -> int:
        c = a + b
        parts = [c, a, b]
        del b
        return sum(parts) + c + a

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert work(1, 2) == 10
    finally:
        sys.settrace(before)
    assert events


def test_frames_of_threads_that_come_and_go_are_read() -> None:
    """A function may end between two instructions of ours: what was its frame is not read then."""
    stop = threading.Event()

    def deep(n: int) -> int:
        held = [n, str(n)]
        return deep(n - 1) if n else len(held)

    def run() -> None:
        while not stop.is_set():
            deep(20)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(300):
            for thread in threads:
                frame = sys._current_frames().get(thread.ident or 0)
                while frame is not None:
                    assert local_values(frame) is not None
                    frame = frame.f_back
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_an_array_in_a_local_is_found() -> None:
    array = np.zeros(3)

    assert any(value is array for value in walk.running_locals())


def test_a_local_is_named_in_the_path() -> None:
    held = [Batch()]

    assert "local held" in str(find_holders([held[0]])[0])


def test_locals_are_found_where_an_exception_that_is_kept_leads_to_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("keeps_an_error")
    monkeypatch.setitem(sys.modules, "keeps_an_error", module)
    module.error = caught_deeper()  # type: ignore[attr-defined]
    held = [Batch() for _ in range(1_357)]

    table = read_places()

    place = next(int(table.place[row]) for row in range(len(table)) if table.n_objects[row] == len(held))
    assert [step.name for step in resolve([place])[place]][:2] == ["test_frames.py " + here_is(), "held"]


def caught_deeper() -> Exception:
    try:
        raise ValueError
    except ValueError as error:
        return error


def here_is() -> str:
    code = sys._getframe(1).f_code
    return f"{code.co_qualname if sys.version_info >= (3, 11) else code.co_name}()"


def test_where_locals_cannot_be_read_the_path_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phaseprof.probes.holding.frames.local_values", lambda frame: None)
    held = [Batch()]

    path = str(find_holders([held[0]])[0])

    assert "a local of" in path
    assert "not looked at" in path
    assert held


def test_this_interpreter_is_understood() -> None:
    assert sys.version_info >= (3, 12) or frame_locals.is_understood()
