"""What one full collection frees, where memory goes up for long and nobody was seen to hold it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from phaseprof.live.families import Reader
from phaseprof.live.suspicion import type_tier

# Types that are told of one collection, those that tell most first.
MOST_TYPES = 4


@dataclass(frozen=True)
class Freed:
    """What a collection freed.

    Attributes:
        types: name, number before and number freed, the user's own types first, then the most numerous.
        n_bytes: by how much memory in use fell.
    """

    types: tuple[tuple[str, int, int], ...]
    n_bytes: int


def collect_dead(memory: Reader, count: Callable[[], Mapping[str, int]]) -> Freed | None:
    """Collect, and count before and after.

    Args:
        memory: reads the memory in use.
        count: counts objects by type name.

    Returns:
        What went; ``None`` where memory in use cannot be read or nothing went.
    Cost: two censuses and a full collection.
    """
    before_bytes, before = memory(), count()
    gc.collect()
    after_bytes, after = memory(), count()
    if before_bytes is None or after_bytes is None or after_bytes >= before_bytes:
        return None
    gone = [(name, n, n - after.get(name, 0)) for name, n in before.items() if after.get(name, 0) < n]
    gone.sort(key=lambda row: (type_tier(row[0]), -row[2]))
    return Freed(tuple(gone[:MOST_TYPES]), int(before_bytes - after_bytes)) if gone else None
