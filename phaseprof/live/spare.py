"""Descriptors that are kept back, so that a program that has used up all of its own still gets its report."""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

# An import, or a look into /proc, opens one file within another at most; a pipe has two descriptors.
_PIPES = 1


class Room:
    """Lets go of the descriptors that are kept back while a function runs that opens files; it is a decorator.

    Without it what is imported late, such as the report, fails at the end of a program that leaks descriptors.  They
    are those of a pipe, which nothing else is: one that the program has closed, and opened for itself since, is known.

    Cost: 20 µs to let go and take them again.
    """

    class Use:
        """A call that may open files, as long as it runs."""

        __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        self._held: list[tuple[int, int]] = []  # descriptor and inode
        # The outermost call that opens files: it takes them again.  One that ended without a word, by what a signal
        # handler raised, is gone, and stands in nobody's way.
        self._use: weakref.ref[Room.Use] | None = None
        self._is_wanted = False

    def keep(self) -> None:
        """Keep descriptors back from now on, as many as there are."""
        self._is_wanted = True
        with contextlib.suppress(OSError):  # another time perhaps
            for _ in range(_PIPES - len(self._held) // 2):
                self._held += [(end, os.fstat(end).st_ino) for end in os.pipe()]

    def __call__(self, function: Callable[Given, Result]) -> Callable[Given, Result]:
        """Decorate a function; a wrapper of ``contextlib`` would have a frame that counts as the program's."""

        @functools.wraps(function)
        def with_room(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            if self._use is not None and self._use() is not None:
                return function(*args, **kwargs)
            use = Room.Use()
            try:
                self._use = weakref.ref(use)
                self._let_go()
                return function(*args, **kwargs)
            finally:
                self._use = None
                del use
                if self._is_wanted:
                    self.keep()

        return with_room

    def _let_go(self) -> None:
        while self._held:
            end, inode = self._held.pop()
            with contextlib.suppress(OSError):
                if os.fstat(end).st_ino == inode:
                    os.close(end)


room = Room()
