"""What users write around their code: phases, checkpoints and generations.

A scope holds no state of a visit, so one object may be nested, re-entered and used by several threads at once; the
visit's state is the stack of names that :class:`Boundaries` keeps for each thread and task.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from types import TracebackType
from typing import NoReturn, Protocol, TypeVar, Union, cast

from phaseprof.errors import UsageError

F = TypeVar("F", bound=Callable[..., object])
Items = Union[float, Callable[..., float], None]  # noqa: UP007 - evaluated at run time on Python 3.10


class Boundaries(Protocol):
    """Where scopes report to."""

    enabled: bool

    def enter(self, name: str, role: str) -> None:
        """A phase or block begins."""

    def leave(self, name: str, role: str, items: float, *, failed: bool) -> None:
        """A phase or block ends; ``items`` is -1 where not said."""

    def point(self, name: str) -> CheckpointScope:
        """A checkpoint is passed."""

    def begin_generation(self, index: int | str | None) -> bool:
        """A turn of the outer loop begins; return whether this call is the one that counts it."""

    def end_generation(self, items: float, *, failed: bool) -> None:
        """The turn that was begun ends."""

    def warn(self, text: str) -> None:
        """Tell the user once."""


def count_items(items: Items, result: object) -> float:
    """Return how many items a visit did: a number, or a function of the phase's return value; -1 if unknown."""
    if items is None:
        return -1.0
    try:
        n = float(items(result) if callable(items) else items)
    except Exception:  # noqa: BLE001 - the user's function must not break the phase it counts for
        return -1.0
    return n if math.isfinite(n) else -1.0


class _PlainWith:
    """Says what to write where a scope is used with ``async with``, which it needs not: it awaits nothing."""

    __slots__ = ()
    called = "phase"

    def __aenter__(self) -> NoReturn:
        raise UsageError(f"a {self.called} is a plain with block, in a coroutine too; write with, not async with")

    def __aexit__(self, *_: object) -> NoReturn:
        raise UsageError(f"a {self.called} is a plain with block, in a coroutine too; write with, not async with")


class _BlockOnly(_PlainWith):
    """Says what to write where a block is used as a decorator."""

    __slots__ = ()

    def __call__(self, function: object) -> NoReturn:
        """Refuse to decorate."""
        name = getattr(function, "__name__", type(function).__name__)
        raise UsageError(
            f"a {self.called} is a with block, no decorator (got {name}); @profile_phase('{name}') decorates functions"
        )


class PhaseScope(_PlainWith):
    """A named phase, as a decorator or a ``with`` block.  Made by ``profile_phase``."""

    __slots__ = ("_items", "_name", "_to")

    def __init__(self, to: Boundaries, name: str | None, items: Items) -> None:
        if name is not None and not isinstance(name, str):
            raise UsageError(f"profile_phase takes a name (got {name!r}); write @profile_phase('train')")
        if name is not None and not name.strip():
            raise UsageError(f"a phase needs a name that is not empty (got {name!r}); write @profile_phase('train')")
        self._to = to
        self._name = name
        self._items = items

    def __enter__(self) -> PhaseScope:
        if self._to.enabled:
            if self._name is None:
                raise UsageError("profile_phase needs a name as a with block; write with profile_phase('train'):")
            self._to.enter(self._name, "phase")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._to.enabled and self._name is not None:
            items = -1.0 if callable(self._items) else count_items(self._items, None)
            self._to.leave(self._name, "phase", items, failed=kind is not None)

    def __call__(self, function: F) -> F:
        """Decorate a function, method, static or class method, coroutine or (async) generator."""
        if isinstance(function, (staticmethod, classmethod)):
            inner = self(function.__func__)
            return cast(F, type(function)(inner))
        if not callable(function) or isinstance(function, type):
            raise UsageError(
                f"profile_phase decorates a function or method (got {type(function).__name__} {function!r}); "
                "put it under @property and the like, or on the methods of a class"
            )
        name = self._name or getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")
        if inspect.iscoroutinefunction(function):
            return cast(F, _wrap_coroutine(self._to, name, self._items, function))
        if inspect.isasyncgenfunction(function):
            return cast(F, _wrap_async_generator(self._to, name, function))
        if inspect.isgeneratorfunction(function):
            return cast(F, _wrap_generator(self._to, name, function))
        return cast(F, _wrap_function(self._to, name, self._items, function))


def _wrap_function(to: Boundaries, name: str, items: Items, function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def phase(*args: object, **kwargs: object) -> object:
        if not to.enabled:
            return function(*args, **kwargs)
        to.enter(name, "phase")
        try:
            result = function(*args, **kwargs)
        except BaseException:
            to.leave(name, "phase", -1.0, failed=True)
            raise
        to.leave(name, "phase", -1.0 if items is None else count_items(items, result), failed=False)
        return result

    return phase


def _wrap_coroutine(
    to: Boundaries, name: str, items: Items, function: Callable[..., Coroutine[object, object, object]]
) -> Callable[..., Coroutine[object, object, object]]:
    @functools.wraps(function)
    async def phase(*args: object, **kwargs: object) -> object:
        if not to.enabled:
            return await function(*args, **kwargs)
        to.enter(name, "phase")
        try:
            result = await function(*args, **kwargs)
        except BaseException:
            to.leave(name, "phase", -1.0, failed=True)
            raise
        to.leave(name, "phase", -1.0 if items is None else count_items(items, result), failed=False)
        return result

    return phase


def _wrap_generator(
    to: Boundaries, name: str, function: Callable[..., Generator[object, object, object]]
) -> Callable[..., Generator[object, object, object]]:
    """One visit a step: the phase is open while the generator's body runs, not while its caller does."""

    @functools.wraps(function)
    def phase(*args: object, **kwargs: object) -> Generator[object, object, object]:
        body = function(*args, **kwargs)
        if not to.enabled:
            return (yield from body)
        resume: Callable[[], object] = functools.partial(next, body)
        try:
            while True:
                watched = to.enabled
                if watched:
                    to.enter(name, "phase")
                failed = True
                try:
                    value = resume()
                    failed = False
                except StopIteration as stop:
                    failed = False
                    return stop.value
                finally:
                    if watched:
                        to.leave(name, "phase", -1.0, failed=failed)
                # What the caller throws in, the end by close() too, is the body's to decide on.
                try:
                    sent = yield value
                    resume = functools.partial(body.send, sent)
                except BaseException as error:  # noqa: BLE001 - passed on to the body
                    resume = functools.partial(body.throw, error)
        finally:
            body.close()

    return phase


def _wrap_async_generator(
    to: Boundaries, name: str, function: Callable[..., AsyncGenerator[object, object]]
) -> Callable[..., AsyncGenerator[object, object]]:
    """As for a generator: the phase is open while the body runs or awaits."""

    @functools.wraps(function)
    async def phase(*args: object, **kwargs: object) -> AsyncGenerator[object, object]:
        body = function(*args, **kwargs)
        resume: Callable[[], Coroutine[object, object, object]] = cast(
            "Callable[[], Coroutine[object, object, object]]", body.__anext__
        )
        try:
            while True:
                watched = to.enabled
                if watched:
                    to.enter(name, "phase")
                failed = True
                try:
                    value = await resume()
                    failed = False
                except StopAsyncIteration:
                    failed = False
                    return
                finally:
                    if watched:
                        to.leave(name, "phase", -1.0, failed=failed)
                try:
                    sent = yield value
                    resume = functools.partial(body.asend, sent)
                except BaseException as error:  # noqa: BLE001 - passed on to the body
                    resume = functools.partial(body.athrow, error)
        finally:
            await body.aclose()

    return phase


class CheckpointScope(_BlockOnly):
    """What ``checkpoint(label)`` returns: the point is recorded already; as a block it records the span too."""

    __slots__ = ("_label", "_to")
    called = "checkpoint"

    def __init__(self, to: Boundaries, label: str) -> None:
        self._to = to
        self._label = label

    def __enter__(self) -> CheckpointScope:
        if self._to.enabled:
            self._to.enter(self._label, "block")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._to.enabled:
            self._to.leave(self._label, "block", -1.0, failed=kind is not None)


class DisabledScope(_BlockOnly):
    """What a disabled profiler's ``checkpoint`` and ``generation`` return: one shared object that does nothing."""

    __slots__ = ()
    called = "checkpoint or generation"
    items: Items = None

    def __enter__(self) -> DisabledScope:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return None


DISABLED = DisabledScope()


class GenerationScope(_BlockOnly):
    """One turn of the outer loop, as a ``with`` block; ``items`` may be set inside it, when it is known."""

    __slots__ = ("_counts", "_index", "_to", "_was_entered", "items")
    called = "generation"

    def __init__(self, to: Boundaries, index: int | str | None, items: Items) -> None:
        self._to = to
        self._index = index
        self._counts = self._was_entered = False
        self.items = items

    def __del__(self) -> None:
        if not getattr(self, "_was_entered", True):
            self._to.warn("generation(...) was called but not entered, so it marks nothing; write with generation(g):")

    def __enter__(self) -> GenerationScope:
        self._was_entered = True
        if self._to.enabled:
            self._counts = self._to.begin_generation(self._index)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._counts:
            self._counts = False
            self._to.end_generation(count_items(self.items, None), failed=kind is not None)
