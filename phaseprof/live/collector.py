"""The garbage collector stands still while we measure: what our own objects bring about would take the program's."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_paused: list[None] = []


def without_collections(call: Callable[[], T]) -> T:
    """Call something while no collection comes by itself.

    What it allocates and frees does not count towards the next one.

    No context manager: what a signal handler raises on the way into one or out of it would leave the collector off. On
    its way into ``finally``, and through the first call in it, the interpreter runs no handler from 3.11 on.
    """
    was_enabled = gc.isenabled()
    try:
        if was_enabled:
            _paused.append(None)
            gc.disable()
        return call()
    finally:
        if was_enabled:
            gc.enable()
            _paused.clear()


def is_enabled() -> bool:
    """Whether the program lets the collector run, which may be standing still for us just now."""
    return bool(_paused) or gc.isenabled()
