"""What users write around their code: phases, checkpoints and generations.

A visit whose label is not due is counted and leaves nothing open.  One that is recorded is a :data:`Visit`: a decorator
keeps it in the call's own frame, a ``with`` block in its object, which may be nested, re-entered and used by several
threads at once; which visits are open in a thread or task is known to :class:`Boundaries`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from types import TracebackType
from typing import NoReturn, Protocol, TypeVar, Union, cast

from phaseprof.errors import UsageError
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.arguments import check_index, check_items, check_label, item_count
from phaseprof.live.dying import LastLook
from phaseprof.live.origin import defined_at
from phaseprof.live.visits import Visit, Visited
from phaseprof.probes.typeinfo import is_a

F = TypeVar("F", bound=Callable[..., object])
Items = Union[float, Callable[..., float], None]  # noqa: UP007 - evaluated at run time on Python 3.10


class Boundaries(Protocol):
    """Where scopes report to.

    A visit begins with a look at the clock: before its label is due it is only counted, and ends without a call.

    Attributes:
        enabled: whether anything is recorded.
        clock: nanoseconds, monotonic.
        counts_due: the clock from which on counts are to be written.
        last_look: what hears of exceptions, since memory may have run out.
    """

    enabled: bool
    clock: Callable[[], int]
    counts_due: int
    last_look: LastLook

    def visited(self, name: str, role: str) -> Visited:
        """Return the label's counter of visits."""

    def enter(self, label: Visited, now: int) -> Visit:
        """A phase or block begins, and is recorded if it is due; ``leave`` takes what is returned."""

    def leave(self, visit: Visit, items: float) -> None:
        """A phase or block ends; ``items`` is -1 where not said."""

    def is_open(self, visit: Visit) -> bool:
        """Whether a visit was begun in the calling thread or task, and has not ended."""

    def write_counts(self, now: int) -> None:
        """Write how many visits were counted, since it is time to."""

    def point(self, name: str) -> CheckpointScope | CountedScope:
        """A checkpoint is passed."""

    def begin_generation(self, scope: GenerationScope, index: int | str | None) -> bool:
        """A turn of the outer loop begins; return whether this call is the one that counts it."""

    def end_generation(self, items: float, *, failed: bool) -> None:
        """The turn that was begun ends."""

    def warn(self, text: str, detail: str = "") -> None:
        """Tell the user once; ``detail`` is not recorded."""


def count_items(to: Boundaries, items: Items, result: object) -> float:
    """Return how many items a visit did: a number, or a function of the phase's return value; -1 if unknown.

    What is no such number is warned of once, since the program computes it as it runs.
    """
    if items is None:
        return -1.0
    try:
        return item_count(items(result) if callable(items) else items)
    except Exception as error:  # noqa: BLE001 - the user's function must not break the phase it counts for
        raise_the_programs(error)
        to.warn("items could not be counted and are left out", f": {error or type(error).__name__}")
        return -1.0


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

    __slots__ = ("_items", "_name", "_open", "_to", "_visited")

    def __init__(self, to: Boundaries, name: str | None, items: Items) -> None:
        check_items(items)
        if name is not None:
            check_label("phase name", name, "@profile_phase('train')")
            self._visited = to.visited(name, "phase")
        self._to = to
        self._name = name
        self._items = items
        # The visits of this object that are recorded and have not ended: mostly one, since most objects are used once.
        self._open: list[Visit] | None = None

    def __enter__(self) -> PhaseScope:
        to = self._to
        if to.enabled:
            if self._name is None:
                raise UsageError("profile_phase needs a name as a with block; write with profile_phase('train'):")
            label = self._visited
            now = to.clock()
            if now < label.due and not self._open:
                label.count()
                if now >= to.counts_due:
                    to.write_counts(now)
            else:
                if self._open is None:
                    self._open = []
                self._open.append(to.enter(label, now))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        items = -1.0
        try:
            if error is not None:
                self._to.last_look.failed_in(self._visited.name, error)
            if self._items is not None and not callable(self._items) and (self._open or self._to.enabled):
                items = count_items(self._to, self._items, None)
        finally:
            if self._open:
                _leave_newest(self._to, self._open, items)
            elif items >= 0:
                self._visited.add_items(items)

    def __call__(self, function: F) -> F:
        """Decorate a function, method, static or class method, coroutine or (async) generator."""
        if is_a(function, staticmethod) or is_a(function, classmethod):
            inner = self(function.__func__)
            return cast(F, type(function)(inner))
        if not callable(function) or is_a(function, type):
            on_class = is_a(function, type)
            where = "on the methods of the class" if on_class else "under @property and the like, right above def"
            given = f"class {function.__name__}" if on_class else f"a {type(function).__name__}"
            raise UsageError(f"profile_phase decorates a function or method (got {given}); put it {where}")
        name = self._name or getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")
        label = self._to.visited(name, "phase")
        label.site = label.site or defined_at(function)
        if inspect.iscoroutinefunction(function):
            return cast(F, _wrap_coroutine(self._to, label, self._items, function))
        if inspect.isasyncgenfunction(function):
            return cast(F, _wrap_async_generator(self._to, label, function))
        if inspect.isgeneratorfunction(function):
            return cast(F, _wrap_generator(self._to, label, function))
        return cast(F, _wrap_function(self._to, label, self._items, function))


def _begin(to: Boundaries, label: Visited) -> Visit | None:
    """Begin a visit; ``None`` where it is only counted, or nothing is."""
    if not to.enabled:
        return None
    now = to.clock()
    if now >= label.due:
        return to.enter(label, now)
    _count(to, label, now)
    return None


def _count(to: Boundaries, label: Visited, now: int) -> None:
    """Count a visit whose label is not due."""
    label.count()
    if now >= to.counts_due:
        to.write_counts(now)


def _wrap_function(
    to: Boundaries, label: Visited, items: Items, function: Callable[..., object]
) -> Callable[..., object]:
    @functools.wraps(function)
    def phase(*args: object, **kwargs: object) -> object:
        if not to.enabled:
            return function(*args, **kwargs)
        now = to.clock()
        if now < label.due:
            _count(to, label, now)
            result = function(*args, **kwargs)
            if items is not None:
                label.add_items(count_items(to, items, result))
            return result
        visit, n = to.enter(label, now), -1.0
        try:
            result = function(*args, **kwargs)
            if items is not None:
                n = count_items(to, items, result)
            return result
        except BaseException as error:
            to.last_look.failed_in(label.name, error)
            raise
        finally:
            to.leave(visit, n)

    return phase


def _wrap_coroutine(
    to: Boundaries, label: Visited, items: Items, function: Callable[..., Coroutine[object, object, object]]
) -> Callable[..., Coroutine[object, object, object]]:
    @functools.wraps(function)
    async def phase(*args: object, **kwargs: object) -> object:
        if not to.enabled:
            return await function(*args, **kwargs)
        visit, n = _begin(to, label), -1.0
        try:
            result = await function(*args, **kwargs)
            if items is not None:
                n = count_items(to, items, result)
            return result
        finally:
            if visit is not None:
                to.leave(visit, n)
            else:
                label.add_items(n)

    return phase


def _wrap_generator(
    to: Boundaries, label: Visited, function: Callable[..., Generator[object, object, object]]
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
                visit = _begin(to, label)
                try:
                    value = resume()
                except StopIteration as stop:
                    return stop.value
                finally:
                    if visit is not None:
                        to.leave(visit, -1.0)
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
    to: Boundaries, label: Visited, function: Callable[..., AsyncGenerator[object, object]]
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
                visit = _begin(to, label)
                try:
                    value = await resume()
                except StopAsyncIteration:
                    return
                finally:
                    if visit is not None:
                        to.leave(visit, -1.0)
                try:
                    sent = yield value
                    resume = functools.partial(body.asend, sent)
                except BaseException as error:  # noqa: BLE001 - passed on to the body
                    resume = functools.partial(body.athrow, error)
        finally:
            await body.aclose()

    return phase


def _leave_newest(to: Boundaries, opened: list[Visit], items: float) -> None:
    """End the newest of a scope's visits that was begun here: another thread or task may use the scope, too."""
    for visit in reversed(opened):
        if to.is_open(visit):
            opened.remove(visit)
            to.leave(visit, items)
            return


class CheckpointScope(_BlockOnly):
    """What ``checkpoint(label)`` returns: the point is recorded already; as a block it records the span too."""

    __slots__ = ("_block", "_opened", "_to")
    called = "checkpoint"

    def __init__(self, to: Boundaries, block: Visited) -> None:
        self._to = to
        self._block = block
        self._opened: list[Visit] | None = None

    def __enter__(self) -> CheckpointScope:
        if self._to.enabled:
            if self._opened is None:
                self._opened = []
            self._opened.append(self._to.enter(self._block, self._to.clock()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._opened:
            _leave_newest(self._to, self._opened, -1.0)


class CountedScope(_BlockOnly):
    """What ``checkpoint(label)`` returns where the point was only counted: so is the block, if it is used as one.

    It holds nothing of a visit, so one object serves all of them.
    """

    __slots__ = ("_block",)
    called = "checkpoint"

    def __init__(self, block: Visited) -> None:
        self._block = block

    def __enter__(self) -> CountedScope:
        self._block.count()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return None


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

    __slots__ = ("__weakref__", "_counts", "_index", "_to", "items")
    called = "generation"

    def __init__(self, to: Boundaries, index: int | str | None, items: Items) -> None:
        check_index(index)
        check_items(items)
        self._to = to
        self._index = index
        self._counts = False
        self.items = items

    def __enter__(self) -> GenerationScope:
        if self._to.enabled:
            self._counts = self._to.begin_generation(self, self._index)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._counts:
            self._counts = False
            if error is not None:
                self._to.last_look.left_generation(error)
            self._to.end_generation(count_items(self._to, self.items, None), failed=kind is not None)
