"""``profile_phase`` around coroutines and generators: they behave as undecorated, open only while their body runs."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Generator

import pytest

from phaseprof import Profiler
from phaseprof.recording.model import ProcessRun

Read = Callable[[Profiler], ProcessRun]


class Planned(Exception):
    pass


def talk(seen: list[object]) -> Generator[object, object, str]:
    """Show whatever comes in by send, throw and close."""
    try:
        while True:
            try:
                got = yield len(seen)
                seen.append(got)
                if got == "stop":
                    return "returned"
            except Planned:
                seen.append("planned")
    finally:
        seen.append("closed")


def drive(make_one: Callable[[list[object]], Generator[object, object, str]]) -> list[object]:
    """Do to a generator all that can be done, and return everything that could be seen."""
    seen: list[object] = []
    one = make_one(seen)
    told: list[object] = [next(one), one.send("a"), one.throw(Planned()), next(one)]
    with pytest.raises(StopIteration) as stopped:
        one.send("stop")
    other_seen: list[object] = []
    other = make_one(other_seen)
    next(other)
    other.close()
    with pytest.raises(StopIteration):
        next(other)
    third = make_one([])
    next(third)
    with pytest.raises(ValueError, match="not caught"):
        third.throw(ValueError("not caught"))
    return [told, stopped.value.value, seen, other_seen]


def test_send_throw_return_and_close_reach_the_body(profiler: Profiler) -> None:
    decorated = profiler.phase("talk")(talk)

    assert drive(decorated) == drive(talk)
    assert inspect.isgeneratorfunction(decorated)


def stubborn() -> Generator[int, None, None]:
    try:
        yield 1
    except GeneratorExit:
        yield 2


def test_a_body_that_ignores_close_is_told_so(profiler: Profiler) -> None:
    one = profiler.phase("stubborn")(stubborn)()
    next(one)

    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        one.close()


@pytest.mark.skipif(sys.version_info < (3, 13), reason="close() returns the value since Python 3.13")
def test_close_returns_what_the_body_returns(profiler: Profiler) -> None:
    @profiler.phase("kind")
    def kind() -> Generator[int, None, str]:
        try:
            yield 1
        except GeneratorExit:
            return "value"
        return ""

    one = kind()
    next(one)

    assert one.close() == "value"


def test_yield_from_gives_the_value(profiler: Profiler) -> None:
    @profiler.phase("inner")
    def inner() -> Generator[int, None, str]:
        yield 1
        return "value"

    def outer() -> Generator[int, None, str]:
        return (yield from inner())

    one = outer()
    next(one)
    with pytest.raises(StopIteration) as stopped:
        next(one)

    assert stopped.value.value == "value"


def test_a_generator_is_open_only_while_its_body_runs(profiler: Profiler, recorded: Read) -> None:
    @profiler.phase("batches")
    def batches() -> Generator[int, None, None]:
        yield from range(3)

    for _ in batches():
        with profiler.phase("train"):
            pass

    process = recorded(profiler)
    assert process.phases["batches"].visits == 4  # three values and the end
    assert process.phases["train"].visits == 3


def test_an_exception_in_the_body_is_not_changed(profiler: Profiler) -> None:
    planned = Planned()

    @profiler.phase("fails")
    def fails() -> Generator[int, None, None]:
        yield 1
        raise planned

    one = fails()
    next(one)
    with pytest.raises(Planned) as caught:
        next(one)

    assert caught.value is planned


def test_a_coroutine_stays_one(profiler: Profiler, recorded: Read) -> None:
    @profiler.phase("fetch")
    async def fetch(value: int) -> int:
        await asyncio.sleep(0)
        return value

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch(5)) == 5
    assert recorded(profiler).phases["fetch"].visits == 1


def test_tasks_side_by_side_count_each_visit(profiler: Profiler, recorded: Read) -> None:
    @profiler.phase("first")
    async def first(gate: asyncio.Event) -> None:
        gate.set()
        await asyncio.sleep(0)

    @profiler.phase("second")
    async def second(gate: asyncio.Event) -> None:
        await gate.wait()
        for _ in range(4):
            await asyncio.sleep(0)

    async def main() -> None:
        gate = asyncio.Event()
        await asyncio.gather(second(gate), first(gate), second(gate))

    asyncio.run(main())

    process = recorded(profiler)
    assert {name: totals.visits for name, totals in process.phases.items()} == {"first": 1, "second": 2}


def test_a_cancelled_coroutine_leaves_its_phase(profiler: Profiler, recorded: Read) -> None:
    @profiler.phase("waits")
    async def waits() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert recorded(profiler).phases["waits"].visits == 1


async def async_talk(seen: list[object]) -> AsyncGenerator[object, object]:
    try:
        while True:
            try:
                got = yield len(seen)
                seen.append(got)
                if got == "stop":
                    return
            except Planned:
                seen.append("planned")
            await asyncio.sleep(0)
    finally:
        seen.append("closed")


async def async_drive(make_one: Callable[[list[object]], AsyncGenerator[object, object]]) -> list[object]:
    seen: list[object] = []
    one = make_one(seen)
    told = [await one.asend(None), await one.asend("a"), await one.athrow(Planned()), await one.__anext__()]
    with pytest.raises(StopAsyncIteration):
        await one.asend("stop")
    other_seen: list[object] = []
    other = make_one(other_seen)
    await other.__anext__()
    await other.aclose()
    return [told, seen, other_seen]


def test_an_async_generator_behaves_as_undecorated(profiler: Profiler, recorded: Read) -> None:
    decorated = profiler.phase("talk")(async_talk)

    assert inspect.isasyncgenfunction(decorated)
    assert asyncio.run(async_drive(decorated)) == asyncio.run(async_drive(async_talk))
    assert recorded(profiler).phases["talk"].visits >= 5


def test_disabled_generators_behave_too(make: Callable[..., Profiler]) -> None:
    profiler = make(enabled=False, run=None)

    assert drive(profiler.phase("talk")(talk)) == drive(talk)


def test_a_task_that_outlives_the_phase_it_was_begun_in_leaves_the_phases_of_others_open(
    profiler: Profiler, recorded: Read
) -> None:
    async def upload() -> None:
        for _ in range(4):
            profiler.checkpoint("sent")
            with profiler.phase("upload"):
                await asyncio.sleep(0)

    async def main() -> None:
        for g in range(3):
            with profiler.generation(g):
                with profiler.phase("collect"):
                    task = asyncio.create_task(upload())
                    await asyncio.sleep(0)
                with profiler.phase("train"):
                    for _ in range(6):
                        await asyncio.sleep(0)
                await task

    asyncio.run(main())

    process = recorded(profiler)
    assert {name: totals.visits for name, totals in process.phases.items()} == {"collect": 3, "train": 3, "upload": 12}
