"""Whose an exception is: one that the program raised while our code ran must reach the program."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

# What our own code is made of, so that an exception of these may be its own: ours, what we call, and the language.
_OURS = sys.stdlib_module_names | {"phaseprof", "numpy", "torch", "psutil", "msgspec", "objgraph", "tabulate"}


def raise_the_programs(error: BaseException) -> None:
    """Raise ``error`` anew if it is the program's; return if our own code, or what it asked, failed.

    The program's are: all that is no ``Exception`` (Ctrl-C, ``sys.exit``); what one of its signal handlers raised; what
    another thread threw into this one.  A handler is known by its argument: the frame that it interrupted, which
    nothing else is called with by that very frame.

    Cost: about 1 µs a frame of the traceback; nothing where there is no error.
    """
    try:
        if not isinstance(error, Exception) or _was_raised_by_a_handler(error.__traceback__) or _was_thrown_in(error):
            raise error
    finally:
        del error  # else what is raised holds this frame, which holds it, and with it all frames of the program


def _was_raised_by_a_handler(at: TracebackType | None) -> bool:
    while at is not None and at.tb_next is not None:
        if _was_given(at.tb_next.tb_frame, at.tb_frame):
            return True
        at = at.tb_next
    return False


def _was_given(called: FrameType, caller: FrameType) -> bool:
    """Whether a call that has failed was given its caller's frame; its locals are read after its end."""
    code = called.f_code
    n_named = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: n_named + bool(code.co_flags & 0x04)]  # 0x04: it takes *args
    values = called.f_locals
    for place, name in enumerate(names):
        value = values.get(name)
        if value is caller:
            return True
        if place >= n_named and type(value) is tuple and any(one is caller for one in value):
            return True
    return False


def _was_thrown_in(error: Exception) -> bool:
    """Whether an exception of the program's own type appeared in a frame that is not the program's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = at.tb_frame.f_globals.get("__name__", "") if at is not None else ""
    made = type(error).__module__
    return _package(where) in _OURS and _package(made) not in _OURS


def _package(name: object) -> str:
    return name.partition(".")[0] if type(name) is str else ""
