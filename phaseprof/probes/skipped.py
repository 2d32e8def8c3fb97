"""What a look has passed over: one object that cannot be read is left out, and everything else goes on."""

from __future__ import annotations

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.typeinfo import type_name

# Kinds of objects and errors that are remembered: one or two are usual, hundreds are a program's own doing.
_MOST = 50

_kinds: dict[str, None] = {}


def skip(obj: object, error: Exception) -> None:
    """Note that an object could not be read; its type and the error's are remembered, not the object.

    Raises:
        Exception: ``error`` is the program's own, raised by one of its signal handlers.
    """
    raise_the_programs(error)
    if len(_kinds) < _MOST:
        _kinds[f"objects of {type_name(type(obj))} could not be looked at ({type_name(type(error))})"] = None


def skipped() -> list[str]:
    """Return a line for each kind of object that was passed over in this process, first ones first."""
    return list(_kinds)
