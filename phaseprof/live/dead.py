"""What one full collection frees: it tells dead cycles from what is held."""

from __future__ import annotations

import gc
from collections.abc import Callable

from phaseprof.live.suspicion import is_installed, type_tier
from phaseprof.probes.census import count_type_names
from phaseprof.recording import format as fmt

# Types that are told of one collection, those that tell most first.
MOST_TYPES = 4


def collect(memory: Callable[[], float | None]) -> int:
    """Collect, and return by how many bytes memory in use fell; -1 where ``memory`` cannot read it."""
    before = memory()
    gc.collect()
    after = memory()
    return -1 if before is None or after is None else max(0, int(before - after))


def what_is_freed(memory: Callable[[], float | None]) -> list[tuple[str, int, int, int]]:
    """Collect, for want of a suspect, and count before and after.

    Args:
        memory: reads the bytes of memory in use; ``None`` where it cannot.

    Returns:
        Rows of type name, number before, number freed and bytes freed of all types: the program's own types first, then
        those of libraries and of Python, the most numerous before others.  No row where memory did not fall.
    Cost: two censuses and a full collection.
    """
    before = count_type_names()
    freed_bytes = collect(memory)
    after = count_type_names()
    if freed_bytes <= 0:
        return []
    rows = [(name, n, n - after.get(name, 0), freed_bytes) for name, n in before.items() if after.get(name, 0) < n]
    return sorted(rows, key=lambda row: (type_tier(row[0]), is_installed(row[0]), -row[2]))[:MOST_TYPES]


def tell_what_is_freed(
    add: Callable[[fmt.Record], None], clock: Callable[[], int], generation: int, memory: Callable[[], float | None]
) -> None:
    """Collect, for want of an answer to who holds what memory goes up with, and record what went.

    A collection that frees nothing is recorded, too: without a record it would pass for one of the program's own.
    """
    for name, before, freed, freed_bytes in what_is_freed(memory) or [("", 0, 0, 0)]:
        add(fmt.Collected(clock(), generation, f"count/{name}", before, freed, freed_bytes))
