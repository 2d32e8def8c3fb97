"""Makes each call of a function one turn of the outer loop, for ``run --generation``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import cast

from phaseprof.probes.typeinfo import is_a
from phaseprof.profiler import Profiler

Function = Callable[..., object]


def wrap_in_generation(profiler: Profiler) -> Callable[[Function], Function]:
    """Return a decorator under which each call is a generation.

    Of a generator each step is one: from the value that it yields until its caller asks for the next, which is the
    body of ``for epoch in epochs():``.
    """

    def wrap(function: Function) -> Function:
        if is_a(function, staticmethod) or is_a(function, classmethod):
            return cast(Function, type(function)(wrap(function.__func__)))
        if inspect.iscoroutinefunction(function):
            return _coroutine(profiler, function)
        if inspect.isasyncgenfunction(function):
            return _async_generator(profiler, function)
        if inspect.isgeneratorfunction(function):
            return _generator(profiler, function)
        return _plain(profiler, function)

    return wrap


def _plain(profiler: Profiler, function: Function) -> Function:
    @functools.wraps(function)
    def turn(*args: object, **kwargs: object) -> object:
        with profiler.generation():
            return function(*args, **kwargs)

    return turn


def _coroutine(profiler: Profiler, function: Callable[..., Coroutine[object, object, object]]) -> Function:
    @functools.wraps(function)
    async def turn(*args: object, **kwargs: object) -> object:
        with profiler.generation():
            return await function(*args, **kwargs)

    return turn


def _generator(profiler: Profiler, function: Callable[..., Generator[object, object, object]]) -> Function:
    @functools.wraps(function)
    def turns(*args: object, **kwargs: object) -> Generator[object, object, object]:
        body = function(*args, **kwargs)
        try:
            value = next(body)
            while True:
                with profiler.generation():
                    sent = yield value
                value = body.send(sent)
        except StopIteration as stop:
            return stop.value
        finally:
            body.close()

    return turns


def _async_generator(profiler: Profiler, function: Callable[..., AsyncIterator[object]]) -> Function:
    @functools.wraps(function)
    async def turns(*args: object, **kwargs: object) -> AsyncIterator[object]:
        async for value in function(*args, **kwargs):
            with profiler.generation():
                yield value

    return turns
