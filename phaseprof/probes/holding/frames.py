"""Locals of running functions: on Python 3.11+ nothing that the collector sees refers to them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import PurePath
from types import CodeType, FrameType

from phaseprof.probes.holding.reading import is_our_code
from phaseprof.probes.locals import frames_of_failure, local_values


@dataclass
class RunningFrame:
    """One function that is running now: what to call it, and its locals by the id of their value.

    Attributes:
        label: file and function, ``train.py main()``.
        filename: full path of the code.
        depth: 0 for the outermost frame of the thread.
        ours: the frame belongs to phaseprof; its locals hold nothing that counts.
        names: id of a value to the names of the locals that hold it.
        is_read: the locals were looked at; not every interpreter allows that without writing into the frame.
    """

    label: str
    filename: str
    depth: int
    ours: bool
    names: dict[int, list[str]] = field(default_factory=dict)
    is_read: bool = True


def code_label(code: CodeType) -> str:
    """Return ``file.py function()`` for a code object."""
    return f"{PurePath(code.co_filename).name} {code_name(code)}()"


def code_name(code: CodeType) -> str:
    """Return the qualified name of a code object where the interpreter knows it (3.11+), else the bare name."""
    return str(getattr(code, "co_qualname", code.co_name))


def local_name(frame: FrameType, target: object) -> str | None:
    """Return the name of the local that holds ``target``, or ``None``."""
    return next((name for name, value in local_values(frame) or () if value is target), None)


def running_frames() -> list[RunningFrame]:
    """Read every frame of every thread, and of an exception that ended the program, by ids only.

    No local is held when this returns.  Cost: about 3 us a frame. A thread may go on running meanwhile; a name read
    here can be out of date by then.
    """
    found: list[RunningFrame] = []
    failed: list[FrameType] = []
    current = sys._current_frames()
    try:
        # Never in a local: this function's own frame is among them, and a frame that holds itself is a cycle, which
        # keeps every caller and its locals until the next full collection.
        while current:
            found += _chain(current.popitem()[1])
        failed += frames_of_failure()
        found += map(_read, failed)
    finally:
        current.clear()
        failed.clear()
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
    found = local_values(frame)
    read.is_read = found is not None
    for name, value in found or ():
        read.names.setdefault(id(value), []).append(name)
    return read
