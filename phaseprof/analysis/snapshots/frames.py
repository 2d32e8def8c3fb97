"""Stack frames: interned by identity, told own from foreign, written without surprises."""

from __future__ import annotations

import re
from functools import lru_cache

from phaseprof.analysis.snapshots.model import Frame, Stack

_PACKAGE_FOLDERS = ("/site-packages/", "/dist-packages/")
_STANDARD_LIBRARY = re.compile(r"/lib(?:64)?/python3\.\d+/(?!site-packages/|dist-packages/)")
# torch run from a source tree or written by its compiler, and frames that no Python file holds.
_TORCH_TREE = re.compile(
    r"/torch/(?:_\w+|nn|optim|autograd|utils|amp|cuda|distributed|func|fx|jit|overrides\.py|functional\.py)(?:/|\.py|$)"
)
_COMPILED = re.compile(r"torchinductor|^<frozen|^<eval_with_key>|\.(?:c|cc|cpp|cu|h|so)$|^\?*$")

_LONGEST_NAME = 500


class FrameTable:
    """Numbers the stacks of one loaded snapshot, each once.

    Snapshots share frames, and often whole lists of them, between blocks; identities are good as long as the loaded
    object is. Numbers are cheap to count by; the stacks themselves are long tuples.
    """

    def __init__(self) -> None:
        self._frames: dict[int, Frame] = {}
        self._number_of_list: dict[int, int] = {}
        self._number_of_parts: dict[tuple[int, ...], int] = {}
        self._number_of_stack: dict[Stack, int] = {}
        self._stacks: list[Stack] = []

    def number(self, frames: object) -> int:
        """Return the number of the stack that a list of frame dicts stands for, innermost first.

        What is not a list counts as no frames. Lists with equal frames get one number.
        """
        known = self._number_of_list.get(id(frames))
        if known is None:
            parts = tuple(map(id, frames)) if isinstance(frames, list) else ()
            known = self._number_of_parts.get(parts)
            if known is None:
                known = self._new_number(tuple(map(self._frame, frames)) if isinstance(frames, list) else ())
                self._number_of_parts[parts] = known
            self._number_of_list[id(frames)] = known
        return known

    def stack(self, number: int) -> Stack:
        """Return the stack with that number."""
        return self._stacks[number]

    def _new_number(self, stack: Stack) -> int:
        number = self._number_of_stack.setdefault(stack, len(self._stacks))
        if number == len(self._stacks):
            self._stacks.append(stack)
        return number

    def _frame(self, raw: object) -> Frame:
        frame = self._frames.get(id(raw))
        if frame is None:
            if not isinstance(raw, dict):
                raise TypeError("a frame is not a dict")
            line = raw.get("line", 0)
            frame = Frame(printable(raw.get("name")), printable(raw.get("filename")), line if type(line) is int else 0)
            self._frames[id(raw)] = frame
        return frame


def is_own(frame: Frame) -> bool:
    """Tell the user's own code from torch, installed packages, the standard library and compiled code.

    >>> is_own(Frame("collect", "/home/ann/train.py", 5)), is_own(Frame("step", "/v/site-packages/torch/adam.py", 1))
    (True, False)
    """
    return _is_own_file(frame.filename)


@lru_cache(maxsize=4096)
def _is_own_file(filename: str) -> bool:
    path = filename.replace("\\", "/")
    return not (
        any(folder in path for folder in _PACKAGE_FOLDERS)
        or _STANDARD_LIBRARY.search(path)
        or _TORCH_TREE.search(path)
        or _COMPILED.search(path)
    )


def innermost_own(stack: Stack) -> Frame | None:
    """Return the innermost frame of the user's own code; where none is, the innermost of any kind or ``None``."""
    for frame in stack:
        if is_own(frame):
            return frame
    return stack[0] if stack else None


def site(frame: Frame) -> str:
    """Write a frame as ``file:line``, the file with its folder."""
    parts = frame.filename.replace("\\", "/").rsplit("/", 2)
    return f"{'/'.join(parts[-2:])}:{frame.line}"


def printable(value: object) -> str:
    """Keep printable characters only: names come from a file that anyone may have written, and go to a terminal."""
    if type(value) is not str:
        return "?"
    if value.isprintable() and len(value) <= _LONGEST_NAME:
        return value
    return "".join(char if char.isprintable() else "?" for char in value[:_LONGEST_NAME])
