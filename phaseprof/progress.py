"""Progress of long work, on a terminal only: one line that is rewritten and, at the end, wiped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

from phaseprof.units import format_duration

_T = TypeVar("_T")
_DELAY_S = 0.5  # work shorter than this shows nothing
_EVERY_S = 0.1
_is_hidden = False


def hide(*, is_hidden: bool) -> None:
    """Show nothing while the terminal is another program's."""
    global _is_hidden
    _is_hidden = is_hidden


class Progress:
    """Shows how far work has come.

    Args:
        what: the work in a few words, such as ``reading``.
        total: number of steps, ``None`` if unknown.
        stream: where it is shown, standard error by default; nothing is written unless it is a terminal.
        clock: seconds, monotonic.
    """

    def __init__(
        self, what: str, total: int | None = None, *,
        stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._what = what
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = clock()
        self._next = self._began + _DELAY_S
        self._shown = 0
        self._is_on = not _is_hidden and self._stream is not None and not self._stream.closed and self._stream.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def end(self) -> None:
        """Wipe the line."""
        self._write("")

    def update(self, done: int) -> None:
        """Say how many steps are done.  Cost: one clock reading, and a write at most ten times a second."""
        now = self._clock()
        if not self._is_on or now < self._next:
            return
        self._next = now + _EVERY_S
        of = f" of {self._total:,} ({done / self._total:.0%})" if self._total else ""
        self._write(f"{self._what}: {done:,}{of}, {format_duration(now - self._began)}")

    def over(self, items: Iterable[_T]) -> Iterator[_T]:
        """Yield the items, counting them as steps."""
        with self:
            for done, item in enumerate(items):
                self.update(done)
                yield item

    def _write(self, line: str) -> None:
        if not self._is_on or (not line and not self._shown):
            return
        line = line[:79]
        self._stream.write("\r" + line.ljust(self._shown) + ("" if line else "\r"))
        self._stream.flush()
        self._shown = len(line)
