"""The garbage collector stands still while we measure: what our own objects bring about would take the program's."""

from __future__ import annotations

import gc
from types import TracebackType

_paused: list[None] = []


class Paused:
    """A block in which no collection comes by itself.

    What it allocates and frees does not count towards the next one.
    """

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        if self._was_enabled:
            _paused.append(None)
            gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._was_enabled:
            gc.enable()
            _paused.clear()


def is_enabled() -> bool:
    """Whether the program lets the collector run, which may be standing still for us just now."""
    return bool(_paused) or gc.isenabled()
