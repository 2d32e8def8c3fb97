"""Descriptors that are kept back, so that a program that has used up all of its own still gets its report."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

# An import, or a look into /proc, opens one file within another at most; a pipe has two descriptors.
_PIPES = 1


class Room:
    """Lets go of the descriptors that are kept back while work is done that opens files; wraps functions, too.

    Without it what is imported late, such as the report, fails at the end of a program that leaks descriptors.  They
    are those of a pipe, which nothing else is: one that the program has closed, and opened for itself since, is known.

    Cost: 20 µs to let go and take them again.
    """

    def __init__(self) -> None:
        self._held: list[tuple[int, int]] = []  # descriptor and inode
        self._depth = 0
        self._is_wanted = False

    def __call__(self, function: Callable[Given, Result]) -> Callable[Given, Result]:
        """Decorate a function; a wrapper of ``contextlib`` would have a frame that counts as the program's."""

        @functools.wraps(function)
        def with_room(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            with self:
                return function(*args, **kwargs)

        return with_room

    def keep(self) -> None:
        """Keep descriptors back from now on, as many as there are."""
        self._is_wanted = True
        with contextlib.suppress(OSError):  # another time perhaps
            for _ in range(_PIPES - len(self._held) // 2):
                self._held += [(end, os.fstat(end).st_ino) for end in os.pipe()]

    def __enter__(self) -> None:
        self._depth += 1
        while self._held:
            end, inode = self._held.pop()
            with contextlib.suppress(OSError):
                if os.fstat(end).st_ino == inode:
                    os.close(end)

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._is_wanted and not self._depth:
            self.keep()


room = Room()
