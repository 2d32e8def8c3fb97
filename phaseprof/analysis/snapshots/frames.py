"""Stack frames: interned by identity, told own from foreign, written without surprises."""

from __future__ import annotations

import re
from collections.abc import Sequence

from phaseprof.analysis.snapshots.model import Frame, Stack

_PACKAGE_FOLDERS = ("/site-packages/", "/dist-packages/")
_STANDARD_LIBRARY = re.compile(r"/lib(?:64)?/python3\.\d+/(?!site-packages/|dist-packages/)")
# torch run from a source tree or written by its compiler, and frames that no Python file holds.
_TORCH_TREE = re.compile(
    r"/torch/(?:_\w+|nn|optim|autograd|utils|amp|cuda|distributed|func|fx|jit|overrides\.py|functional\.py)(?:/|\.py|$)"
)
_COMPILED = re.compile(r"torchinductor|^<frozen|^<eval_with_key>|\.(?:c|cc|cpp|cu|h|so)$|^\?*$")


class FrameTable:
    """Turns the frame lists of one loaded snapshot into stacks, each once.

    Snapshots share frames and often whole lists between blocks; identities are good as long as the loaded object is.
    """

    def __init__(self) -> None:
        self._frames: dict[int, Frame] = {}
        self._stacks: dict[tuple[int, ...], Stack] = {}
        self._lists: dict[int, Stack] = {}

    def stack(self, frames: Sequence[object]) -> Stack:
        """Return the stack of one list of frame dicts, innermost first."""
        known = self._lists.get(id(frames))
        if known is None:
            parts = tuple(map(id, frames))
            known = self._stacks.get(parts)
            if known is None:
                known = self._stacks[parts] = tuple(map(self._frame, frames))
            self._lists[id(frames)] = known
        return known

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

    >>> is_own(Frame("collect", "/home/ann/train.py", 5)), is_own(Frame("step", "/v/site-packages/torch/optim/adam.py", 1))
    (True, False)
    """
    path = frame.filename.replace("\\", "/")
    return not (
        any(folder in path for folder in _PACKAGE_FOLDERS)
        or _STANDARD_LIBRARY.search(path)
        or _TORCH_TREE.search(path)
        or _COMPILED.search(path)
    )


def innermost_own(stack: Stack) -> Frame | None:
    """Return the innermost frame of the user's own code; the innermost of any kind if none is, ``None`` without frames."""
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
    return "".join(char if char.isprintable() else "?" for char in value[:500])
