"""What one full collection frees: it tells dead cycles from what is held."""

from __future__ import annotations

import gc
from collections.abc import Callable


def collect(memory: Callable[[], float | None]) -> int:
    """Collect, and return by how many bytes memory in use fell; -1 where ``memory`` cannot read it."""
    before = memory()
    gc.collect()
    after = memory()
    return -1 if before is None or after is None else max(0, int(before - after))
