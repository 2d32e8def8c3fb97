"""What a look has passed over: one object that cannot be read is left out, and everything else goes on."""

from __future__ import annotations

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.typeinfo import type_name

# Kinds of objects and errors that are remembered until somebody asks: one a type is usual, hundreds are a program's
# own doing.
_MOST = 50

_counts: dict[str, int] = {}


def skip(obj: object, error: Exception) -> None:
    """Note that an object could not be read; its type and the error's are remembered, not the object.

    Raises:
        Exception: ``error`` is the program's own, raised by one of its signal handlers.
    """
    raise_the_programs(error)
    what = f"{type_name(type(obj))}: {type_name(type(error))}"
    if what in _counts or len(_counts) < _MOST:
        _counts[what] = _counts.get(what, 0) + 1


def take_skipped() -> list[str]:
    """Return a line for each kind of object that was passed over since the last call, and forget them."""
    found = list(_counts.items())
    _counts.clear()
    return [f"{n:,} object{'s' * (n > 1)} could not be looked at ({what})" for what, n in found]
