"""What a suspect holds: the type of its items, and how many bytes go with each."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from itertools import islice, repeat
from operator import is_

from phaseprof.interrupts import raise_the_programs
from phaseprof.live.suspicion import PLUMBING_TIER, type_tier
from phaseprof.probes import autograd, sizes
from phaseprof.probes.typeinfo import type_name

# Newest items of a container that are looked at, and those inside each of them where they only carry others.
_ITEMS, _INSIDE = 64, 8
# Survivors whose sizes are added up.
_SIZED = 4
_MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
_ITEM = re.compile(r"\(?([A-Za-z_][\w.<>]*)(?:, [\d,]+)?\)?$")
# Types that are shown with the name of what they run.
_CARRIER = re.compile(r"\b(Task|method|function|generator|async generator|partial) |\((coroutine|cell) ")
SIZE_DEADLINE_S = 0.05


def item_after(steps: Sequence[str], container: str, length: int) -> str:
    """Name the type of what the growing container holds: the step after it on the path, else the last."""
    shown = f"({container.rpartition('.')[2]}, {length:,}"
    at = next((n for n, step in enumerate(steps[:-1]) if shown in step), -1)
    step = steps[at + 1] if at >= 0 else steps[-1] if steps else ""
    carrier = _CARRIER.search(step)
    if carrier:
        return carrier[1] or carrier[2]
    found = _ITEM.search(step)
    return found[1] if found else ""


def own_bytes(survivors: Sequence[object]) -> int:
    """Return what each survivor adds to what older ones reach, in bytes, on average; -1 if that is not known.

    What all share counts for none of them, and neither does what one in a chain reaches through those before it.

    Args:
        survivors: oldest first.
    """
    if not survivors:
        return -1
    named = {str(number): survivor for number, survivor in enumerate(survivors[-_SIZED:])}
    try:
        found = sizes.deep_sizes(named, deadline_s=SIZE_DEADLINE_S)
        if len(named) == 1:
            return found.names["0"].bytes
        return round((found.total_bytes - found.names["0"].bytes) / (len(named) - 1))
    finally:
        named.clear()


def graph_bytes(survivors: Sequence[object]) -> int:
    """Return the bytes that the graphs behind the survivors saved, for one survivor on average."""
    if not survivors:
        return -1
    reading = autograd.walk_graph(survivors, max_nodes=20_000, deadline_s=SIZE_DEADLINE_S)  # type: ignore[arg-type]
    return round(reading.saved_bytes / len(survivors))


def item_of(container: object) -> str:
    """Return the type that a builtin container holds most of, by its newest items; ``""`` for numbers and text.

    Where the items are tuples, lists or dicts, what lies in those is named.  Only exact builtins are looked into.
    """
    newest = _newest(container, _ITEMS)
    try:
        for _ in range(3):
            kinds = Counter(type_name(type(item)) for item in newest)
            telling = {kind: n for kind, n in kinds.items() if type_tier(kind) < PLUMBING_TIER}
            if telling:
                return max(telling, key=telling.__getitem__)
            newest = [inner for item in newest for inner in _newest(item, _INSIDE)]
        return ""
    finally:
        newest.clear()


def _newest(container: object, most: int) -> list[object]:
    kind = type(container)
    try:
        if kind is list or kind is tuple:
            return list(container[-most:])  # type: ignore[index]
        if any(map(is_, repeat(kind), _MAPPINGS)):
            return list(islice(reversed(container.values()), most))  # type: ignore[attr-defined]
        if kind is deque:
            return list(islice(reversed(container), most))  # type: ignore[call-overload]
        return list(islice(container, most)) if kind is set else []  # type: ignore[call-overload]
    except RuntimeError as error:  # another thread changes it
        raise_the_programs(error)
        return []
