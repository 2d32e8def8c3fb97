"""Locals of running functions: on Python 3.11+ nothing that the collector sees refers to them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import CodeType, FrameType
from typing import cast

from phaseprof.probes.holding.reading import is_our_code

_CO_OPTIMIZED = 0x1
# Up to 3.12 ``frame.f_locals`` of a function fills a dictionary that the frame keeps; from 3.13 on it is a view.
_LOCALS_ARE_A_COPY = sys.version_info < (3, 13)


@dataclass
class RunningFrame:
    """One function that is running now: what to call it, and its locals by the id of their value.

    Attributes:
        label: file and function, ``train.py main()``.
        filename: full path of the code.
        depth: 0 for the outermost frame of the thread.
        ours: the frame belongs to phaseprof; its locals hold nothing that counts.
        names: id of a value to the names of the locals that hold it.
    """

    label: str
    filename: str
    depth: int
    ours: bool
    names: dict[int, list[str]] = field(default_factory=dict)


def code_label(code: CodeType) -> str:
    """Return ``file.py function()`` for a code object."""
    return f"{PurePath(code.co_filename).name} {code_name(code)}()"


def code_name(code: CodeType) -> str:
    """Return the qualified name of a code object where the interpreter knows it (3.11+), else the bare name."""
    return str(getattr(code, "co_qualname", code.co_name))


def local_values(frame: FrameType) -> Iterator[tuple[str, object]]:
    """Yield the name and value of every local, and leave nothing behind in the frame.

    The dictionary that Python 3.10 to 3.12 fill for ``f_locals`` would keep every local alive for as long as the
    function runs, so what was filled in is taken out again, unless somebody else holds that dictionary too.
    """
    namespace = cast("Mapping[str, object]", frame.f_locals)
    code = frame.f_code
    if not code.co_flags & _CO_OPTIMIZED:
        if namespace is not frame.f_globals:
            yield from list(namespace.items())
        return
    names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    found = [(name, namespace[name]) for name in names if name in namespace]
    if _LOCALS_ARE_A_COPY and sys.getrefcount(namespace) <= 3:
        copy = cast("dict[str, object]", namespace)
        for name in names:
            copy.pop(name, None)
    yield from found


def local_name(frame: FrameType, target: object) -> str | None:
    """Return the name of the local that holds ``target``, or ``None``."""
    return next((name for name, value in local_values(frame) if value is target), None)


def running_frames() -> list[RunningFrame]:
    """Read every frame of every thread, by ids only: no local is held when this returns.

    Cost: about 3 us a frame. A thread may go on running meanwhile; a name read here can be out of date by then.
    """
    found = []
    current = sys._current_frames()
    try:
        # Never in a local: this function's own frame is among them, and a frame that holds itself is a cycle, which
        # keeps every caller and its locals until the next full collection.
        while current:
            found += _chain(current.popitem()[1])
    finally:
        current.clear()
    return found


def _chain(frame: FrameType | None) -> list[RunningFrame]:
    frames = []
    while frame is not None:
        frames.append(_read(frame))
        frame = frame.f_back
    for depth, read in enumerate(reversed(frames)):
        read.depth = depth
    return frames


def _read(frame: FrameType) -> RunningFrame:
    code = frame.f_code
    read = RunningFrame(code_label(code), code.co_filename, 0, is_our_code(code))
    for name, value in local_values(frame):
        read.names.setdefault(id(value), []).append(name)
    return read
