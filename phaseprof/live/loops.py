"""Generations without a block: those of an iterable, and those that end where the next one begins."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from phaseprof.errors import ExpectationError, UsageError
from phaseprof.live.arguments import check_items, shown
from phaseprof.live.recorder import clean_text
from phaseprof.live.scopes import DisabledScope, GenerationScope, Items
from phaseprof.probes.typeinfo import is_a

T = TypeVar("T")


class MakeScope(Protocol):
    """What makes the scope of a generation."""

    def __call__(self, index: int | str | None, *, items: Items) -> GenerationScope | DisabledScope:
        """Return a scope that was not entered yet."""


class Generations(Generic[T]):
    """An iterable whose items are each the body of one generation; as long as what it is made of.

    The generation ends when the next item is asked for, or there is none; one that is left by ``break`` or an exception
    ends there and then, and is not measured.

    Args:
        make: makes the scope of a generation.
        iterable: what is gone through.
        items: units of work done in each generation.
    """

    def __init__(self, make: MakeScope, iterable: Iterable[T], items: Items) -> None:
        if not hasattr(type(iterable), "__iter__") and not hasattr(type(iterable), "__getitem__"):
            raise UsageError(
                f"generations takes an iterable (got {shown(iterable)}); write for g in generations(range(100)):"
            )
        check_items(items)
        self._make = make
        self._iterable = iterable
        self._items = items

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]  # raises TypeError as the iterable itself would

    def __iter__(self) -> Iterator[T]:
        # The item is taken out of the list where it is handed over, so that it dies with the loop's own variable.
        for held in _one_by_one(iter(self._iterable)):
            with self._make(_index_of(held[0]), items=self._items):
                yield held.pop()


def _one_by_one(source: Iterator[T]) -> Iterator[list[T]]:
    while True:
        try:
            yield [next(source)]
        except StopIteration:
            return


def shown_index(index: object, ordinal: int) -> int | str:
    """The user's number or name for a generation, as a record can hold it."""
    if index is None:
        return ordinal
    if not is_a(index, str) and hasattr(type(index), "__index__"):  # numbers of numpy are numbers, too
        index = operator.index(index)  # type: ignore[arg-type]  # just looked up
    if type(index) is int and -(2**63) <= index < 2**63:
        return index
    return clean_text(index if is_a(index, str) else str(index))


def _index_of(item: object) -> int | str | None:
    """A number or a name is the generation's own; anything else leaves it its ordinal."""
    return item if type(item) is int or (type(item) is str and item.strip()) else None


class OpenEnd:
    """The generation that ends where the next one begins; the last one ends when findings are asked for, or at the end.

    Args:
        make: makes the scope of a generation.
    """

    def __init__(self, make: MakeScope) -> None:
        self._make = make
        self._scope: GenerationScope | DisabledScope | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is one to end."""
        return self._scope is not None

    def next(self, index: int | str | None, items: Items) -> None:
        """End the open generation, if there is one, and begin another."""
        scope = self._make(index, items=items)  # what is refused leaves the open one as it was
        self.end()
        self._scope = scope.__enter__()

    def end(self, items: Items = None, *, failed: bool = False) -> None:
        """End the open generation, if there is one; one that failed is not measured."""
        scope, self._scope = self._scope, None
        if scope is None:
            return
        if items is not None and is_a(scope, GenerationScope):
            scope.items = items
        scope.__exit__(GeneratorExit if failed else None, None, None)

    def close(self) -> None:
        """End the open generation because the recording is read: an expectation that is broken is in what is read."""
        with contextlib.suppress(ExpectationError):
            self.end()

    def forget(self) -> None:
        """In a forked child and a new recording: what was open is none of theirs."""
        self._scope = None
