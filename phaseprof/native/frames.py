"""Locals of a running function, read without writing to its frame.

Up to Python 3.12 ``frame.f_locals`` of a function fills a dict that the frame keeps, and with it every value; where a
trace function runs, what was put there is written back.  So the values are read from where the function keeps them.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import types
from collections.abc import Iterator
from functools import cache
from typing import cast

from phaseprof.native.layout import word

_WORD = 8
# Include/internal/pycore_frame.h of 3.11 and 3.12: struct _frame.f_frame, _PyInterpreterFrame.localsplus.
_FRAME_DATA, _LOCALS_IN_DATA = 24, 72


def local_values(frame: types.FrameType) -> list[tuple[str, object]]:
    """Return the name and value of each local that has a value, in the order of the code's names.

    Variables shared with inner functions come with what their cell holds.  Empty for the frame of a module or class
    body, whose variables are a namespace.  The caller drops the list at once.

    Cost: some microseconds.  Nothing is written to the frame.
    """
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return []
    if sys.version_info >= (3, 13):
        return list(frame.f_locals.items())
    return list(_read_locals(frame, code)) if is_understood() else []


def _read_locals(frame: types.FrameType, code: types.CodeType) -> Iterator[tuple[str, object]]:
    shared = {*code.co_cellvars, *code.co_freevars}
    for name, at in zip(_names_in_order(code), _addresses(frame), strict=False):
        try:
            # One call reads the pointer and takes a reference, so that no other thread can run in between.
            value: object = ctypes.py_object.from_address(at).value
            # A variable may be shared before its cell is made; then the value itself lies there.
            is_cell = name in shared and type(value) is types.CellType
            yield name, cast("types.CellType", value).cell_contents if is_cell else value
        except ValueError:  # no value yet, or none any more
            continue


def _names_in_order(code: types.CodeType) -> tuple[str, ...]:
    if sys.version_info < (3, 11):
        return (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    # Arguments that inner functions share lie with the other arguments.
    cells = (name for name in code.co_cellvars if name not in code.co_varnames)
    return (*code.co_varnames, *cells, *code.co_freevars)


def _addresses(frame: types.FrameType) -> Iterator[int]:
    if sys.version_info < (3, 11):
        first = id(frame) + types.FrameType.__basicsize__ - _WORD
    else:
        first = word(id(frame) + _FRAME_DATA) + _LOCALS_IN_DATA
    while True:
        yield first
        first += _WORD


@cache
def is_understood() -> bool:
    """Say whether this interpreter lays frames out as expected, by trying it on one."""
    number, text = 271828, "probe"

    def reader() -> int:
        return number

    found = dict(_read_locals(frame, frame.f_code)) if (frame := inspect.currentframe()) else {}
    del frame
    return found.get("number") == number and found.get("text") is text and found.get("reader") is reader
