"""What callbacks of all frameworks share: marks made late, part of nobody's checkpoint, raising nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from phaseprof.api import get_profiler
from phaseprof.errors import ExpectationError
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.warn import warn_user

if TYPE_CHECKING:
    from phaseprof.live.marks import Marks
    from phaseprof.profiler import Profiler

F = TypeVar("F", bound=Callable[..., object])

# Frameworks in whose trainings ``phaseprof run`` has put a callback, and what counts as a generation there.
USED: dict[str, str] = {}


class Steps:
    """The marks of one callback, made when they are first needed, so that a callback can be made anywhere.

    A copy, and what is read from a pickle, begin anew: nothing of a run goes into a checkpoint or another process.

    Attributes:
        profiler: whose; ``None``: the default one, as it is when the training begins.

    Args:
        within: the framework's package.
    """

    def __init__(self, within: str, profiler: Profiler | None) -> None:
        self._within = within
        self.profiler = profiler
        self._marks: Marks | None = None
        self._has_warned = False

    @property
    def marks(self) -> Marks:
        """The marks."""
        if self._marks is None:
            profiler = get_profiler() if self.profiler is None else self.profiler
            self._marks = profiler.marks(self._within)
        return self._marks

    def warn(self, text: str) -> None:
        """Tell the user, once for each callback, also where no profiler can be reached."""
        if not self._has_warned:
            self._has_warned = True
            warn_user(text)

    def __getstate__(self) -> str:
        return self._within

    def __setstate__(self, within: str) -> None:
        self.__init__(within, None)  # type: ignore[misc]  # what was written is all that a new one needs

    def __deepcopy__(self, memo: object) -> Steps:
        return Steps(self._within, self.profiler)


def quietly(hook: F) -> F:
    """Make a callback's method raise nothing into the training: what fails becomes one warning.

    The method's object has its :class:`Steps` under ``steps_``.
    """

    @functools.wraps(hook)
    def call(self: Any, *args: object, **kwargs: object) -> object:
        try:
            return hook(self, *args, **kwargs)
        except ExpectationError:  # on_violation="raise" asks for it
            raise
        except Exception as error:  # noqa: BLE001 - as the docstring says
            raise_the_programs(error)
            self.steps_.warn(f"a callback failed: {type(error).__name__}: {error}")
            return None

    return cast("F", call)


def wrap_method(owner: object, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function or method by its wrapped self, once: a second call for the same name does nothing."""
    found = getattr(owner, name)
    if getattr(found, "__phaseprof__", False):
        return
    wrapped = functools.wraps(found)(wrap(found))
    wrapped.__phaseprof__ = True  # type: ignore[attr-defined]  # how it is known the next time
    setattr(owner, name, wrapped)
