"""An exception of the program's at the beginning of any call of ours, where signal handlers run, ends nothing of ours.

What is raised there has kept the function from its first step: an ``__exit__`` has not even begun.
"""

from __future__ import annotations

import asyncio
import gc
import io
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import FrameType, GeneratorType

import pytest

import phaseprof
from phaseprof import Profiler, load
from phaseprof.live.spare import room
from phaseprof.recording.folding import OUTSIDE

HOME = str(Path(phaseprof.__file__).parent)
Act = Callable[[], object]
MOST = 16  # calls of one act at which it is tried; of very many, some that lie evenly apart


class Thing:
    pass


class At:
    """Raises Ctrl-C at the beginning of the n-th call of a function of ours, and remembers which it was."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.n_calls = 0
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            self.n_calls += 1
            if self.n_calls == self.n:
                self.where = frame.f_code.co_filename + " " + frame.f_code.co_name
                raise KeyboardInterrupt


def with_block(profiler: Profiler) -> Act:
    def act() -> None:
        for _ in range(2):
            with profiler.phase("struck", items=2):
                profiler.checkpoint("inside")

    return act


def block(profiler: Profiler) -> Act:
    def act() -> None:
        for _ in range(2):
            with profiler.checkpoint("struck"):
                pass

    return act


def function(profiler: Profiler) -> Act:
    @profiler.phase("struck", items=lambda made: 3)
    def work() -> None:
        pass

    return lambda: (work(), work())


def coroutine(profiler: Profiler) -> Act:
    @profiler.phase("struck")
    async def work() -> None:
        await asyncio.sleep(0)

    return lambda: run(work())


def generator(profiler: Profiler) -> Act:
    @profiler.phase("struck")
    def work() -> Iterator[int]:
        yield 1
        yield 2

    return lambda: list(work())


def async_generator(profiler: Profiler) -> Act:
    @profiler.phase("struck")
    async def work() -> AsyncIterator[int]:
        yield 1
        yield 2

    async def all_of_it() -> None:
        async for _ in work():
            pass

    return lambda: run(all_of_it())


def run(coroutine: object) -> None:
    """Run a coroutine without a loop, whose own calls are no matter here."""
    try:
        while True:
            coroutine.send(None)  # type: ignore[attr-defined]
    except StopIteration:
        pass
    finally:
        coroutine.close()  # type: ignore[attr-defined]


def generations(profiler: Profiler) -> Act:
    def act() -> None:
        for turn in profiler.generations(range(3)):
            with profiler.phase("struck"):
                profiler.checkpoint(f"inside {turn}")

    return act


def watch_and_track(profiler: Profiler) -> Act:
    return lambda: (profiler.watch(Thing, 3), profiler.watch("collections.Counter"), profiler.track("list", list))


def log_memory(profiler: Profiler) -> Act:
    return lambda: profiler.log_memory("struck", show_objects=True)


def counts(profiler: Profiler) -> Act:
    return profiler.counts


def scalars(profiler: Profiler) -> Act:
    return profiler.scalars


def findings(profiler: Profiler) -> Act:
    return profiler.findings


def summary(profiler: Profiler) -> Act:
    return lambda: profiler.print_summary(io.StringIO())


def close(profiler: Profiler) -> Act:
    return profiler.close


ACTS = [
    with_block, block, function, coroutine, generator, async_generator, generations, watch_and_track, log_memory,
    counts, scalars, findings, summary, close,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_collections() -> Iterator[None]:
    """What is raised in a callback of the collector is lost, whoever is to blame."""
    gc.disable()
    yield
    gc.enable()


def tried(make: Callable[[Profiler], Act], folder: Path, n: int) -> tuple[Profiler, At, bool]:
    """Do something that Ctrl-C interrupts; return where, and whether it reached us."""
    profiler = Profiler(folder)
    for turn in range(2):
        with profiler.generation(turn), profiler.phase("before"):
            pass
    act, at, is_raised, before = make(profiler), At(n), False, sys.gettrace()
    try:
        sys.settrace(at)
        act()
    except KeyboardInterrupt:
        is_raised = True
    finally:
        sys.settrace(before)
    return profiler, at, is_raised


@pytest.mark.parametrize("make", ACTS)
def test_what_is_raised_there_ends_nothing_of_ours(
    make: Callable[[Profiler], Act], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A generator that is dropped is called once more, to be closed.  No signal handler runs there, but a trace does.
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: dropped.append(type(given.object)))
    profiler, at, _ = tried(make, tmp_path / "whole", 0)
    profiler.close()

    assert at.n_calls > 4
    for n in range(1, at.n_calls + 1, max(1, at.n_calls // MOST)):
        profiler, at, is_raised = tried(make, tmp_path / str(n), n)
        # Less calls may be needed than at the first time: nothing is imported any more.
        assert is_raised or not at.where or dropped == [GeneratorType], at.where
        dropped.clear()
        goes_on(profiler, tmp_path / str(n), is_closed=make is close)


def goes_on(profiler: Profiler, folder: Path, *, is_closed: bool) -> None:
    """Check that phases, generations, threads, the file and what is kept back are as if nothing had been."""
    session = profiler._session
    if session.enabled:
        in_another_thread(profiler)
        before = session.ordinal
        for turn in range(2):
            with profiler.generation(turn), profiler.phase("after"):
                profiler.checkpoint("inside after")
        assert session.ordinal == before + 2
        assert not session.in_generation
        assert not session.budget._is_asked
        with profiler.phase("outside"):
            pass
    else:
        assert is_closed
    if session.is_begun:
        session.close("the interpreter ended")
    profiler.scalars()

    assert len(room._held) == 2
    read = load(folder).main
    assert read.ended is not None
    assert not [note for note in read.notes if "failed" in note or "could not" in note or "skipped" in note]
    is_torn = any("missing from the figures" in note for note in session.recorder.model.notes)
    assert read.phases["before"].visits == 2
    assert is_torn or session.recorder.model.phases["before"].visits == 2
    for process in (read, session.recorder.model):
        if not is_closed:
            assert process.phases["after"].visits == 2
            assert process.phases["outside"].inside == process.phases["after"].inside == {OUTSIDE}


def in_another_thread(profiler: Profiler) -> None:
    """Record in another thread, which needs every lock of ours."""

    def work() -> None:
        with profiler.phase("thread"):
            profiler.checkpoint("there")
        profiler._session.recorder.note("a note takes the lock")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_a_phase_that_nobody_is_left_to_end_is_left(tmp_path: Path) -> None:
    profiler = Profiler(tmp_path, budget=None, min_generation_s=0)
    scope = profiler.phase("lost")
    scope.__enter__()
    del scope  # as if what is raised had come before the first step of ``__exit__``

    for _ in range(3):
        with profiler.phase("train"):
            pass
    before = profiler._session.ordinal
    profiler.close()

    assert before >= 2  # generations come round with the outermost phase
    assert load(tmp_path).main.phases["train"].inside == {OUTSIDE}


def test_what_an_alarm_has_interrupted_is_kept_alive_by_nothing_of_ours() -> None:
    """No ring of exception and frames may keep the program's batches until a collection."""

    class Batch:
        pass

    def struck() -> list[object]:
        import weakref

        batch = Batch()
        seen = weakref.ref(batch)
        profiler = Profiler(None, budget=None)

        def work(batch: Batch) -> None:
            with profiler.phase("train"):
                pass

        sys.settrace(At(12))
        try:
            work(batch)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        del batch, work
        return [seen, profiler]

    seen, profiler = struck()

    assert callable(seen) and seen() is None
    assert isinstance(profiler, Profiler)
    profiler.close()
