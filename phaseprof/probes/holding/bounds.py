"""What bounds a container: a length that it was made with, or a capacity that its owner declares."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable

from phaseprof.probes.holding import reading
from phaseprof.probes.holding.edges import LRU_CACHE
from phaseprof.probes.holding.steps import lru_entries
from phaseprof.probes.typeinfo import is_one_of

_CAPACITY_NAMES = frozenset(
    {
        "cap", "capacity", "maxlen", "max_len", "max_length", "max_size", "maxsize", "buffer_size", "max_entries",
        "max_items",
    }
)  # fmt: skip
# From here on a capacity says "as many as you like": the largest of a semaphore, which queues of processes declare.
_NO_BOUND = 2**31 - 1


def capacity_among(named: Iterable[tuple[object, object]]) -> int | None:
    """Return the least capacity that names and values declare; ``None`` where none does."""
    found = [v for n, v in named if type(n) is str and type(v) is int and n.strip("_") in _CAPACITY_NAMES]
    return min((value for value in found if 0 < value < _NO_BOUND), default=None)


def bound_of(
    obj: object, owner: object, declared: Callable[[object], int | None] | None = None
) -> tuple[int | None, int | None]:
    """Return the capacity and the length of a container; ``None`` where it has none, or is none.

    Args:
        obj: the container.
        owner: what refers to it, and may declare a capacity in an attribute of that name.
        declared: reads what an object declares; by default from its attributes, of which Python may make a dict.
    """
    if type(obj) is LRU_CACHE:
        entries, maximum = lru_entries(obj)
        return maximum, entries if maximum is not None else None
    size = reading.length(obj) or 0
    if issubclass(type(obj), deque):
        maximum = vars(deque)["maxlen"].__get__(obj)
        if maximum is not None:
            return maximum, size
    for holder in (obj, owner):
        capacity = (declared or _declared)(holder)
        if capacity is not None and capacity >= size:
            return capacity, size
    return None, None


def _declared(owner: object) -> int | None:
    if owner is None or is_one_of(owner, (*reading.CONTAINER_BASES, types.FrameType)):
        return None
    return capacity_among([*(reading.instance_namespace(owner) or {}).items(), *reading.slots(owner)])
