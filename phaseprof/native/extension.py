"""The extension in C, where it was built and understands this interpreter."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType, ModuleType
from typing import Any, NamedTuple, Protocol, cast

from phaseprof.native import layout

__all__ = [
    "Extension",
    "Samples",
    "Tracing",
    "addresses",
    "extension",
    "limit_or_none",
    "make_open_file",
    "make_samples",
    "missing_because",
    "passes_in_python",
    "tracing",
]

# What the walks must know of containers that the C interface has no names for.
CONTAINERS = (deque, OrderedDict, defaultdict)
# That of _heap.c; one that was built from other sources takes and returns other things.
INTERFACE = 12
# Those of the small modules beside it.
INTERFACES = {"_sampling": 1, "_points": 1, "_tracing": 2}

_in_python = False


class Extension(Protocol):
    """The functions of ``_heap.c``."""

    interface: int
    places: Callable[..., tuple[object, ...]]
    deep_size: Callable[..., tuple[object, ...]]
    known: Callable[[], object]
    learn: Callable[[object, bytes], None]
    count: Callable[[tuple[type, ...]], list[int]]
    local_values: Callable[[FrameType], list[tuple[str, object]]]
    look: Callable[..., tuple[object, ...]]
    own: Callable[[list[object], tuple[type, ...], int, int], tuple[bytes, tuple[int, ...]]]
    pick: Callable[[tuple[type, ...], int, int], list[object]]
    tracked_at: Callable[[bytes], list[object]]
    referrers: Callable[[tuple[object, ...]], list[object]]
    holders: Callable[[bytes], list[tuple[int, type, int]]]
    hidden_parents: Callable[[bytes, tuple[type, ...]], list[tuple[object, object]]]


class Samples(Protocol):
    """The samples of ``_sampling.c``."""

    is_waiting: bool

    def gather(self, every_ns: int, hold_ns: int, /) -> bool:
        """Sample without the interpreter's lock until ``hold_ns`` have passed; tell whether to go on."""

    def take(self) -> list[tuple[int, bytes]]:
        """Return clock and text of each sample since the last call."""

    def stop(self) -> None:
        """Let ``gather`` come back."""


class Tracing(Protocol):
    """The functions of ``_tracing.c``."""

    start: Callable[[Callable[[int], object], int], object]
    end: Callable[[], None]
    pause: Callable[[], None]
    blocks: Callable[[], bytes]
    traces: Callable[[Callable[[object], object], list[object], bytes, bool], tuple[list[object], bytes]]


class _Found(NamedTuple):
    module: Extension | None
    reason: str


def extension() -> Extension | None:
    """Return the extension, ``None`` where the passes run in Python.

    ``PHASEPROF_NATIVE=0`` turns it off, read when it is first needed.
    """
    return None if _in_python else _find().module


def missing_because() -> str:
    """Return why the passes run in Python, ``""`` where they do not."""
    return _find().reason


def make_samples(fd: int) -> Samples | None:
    """Return what samples a file of ``/proc`` without the interpreter's lock; ``None`` where that is not to be had.

    Args:
        fd: the file's descriptor, which stays open as long as ``gather`` runs.
    """
    module = _small_module("_sampling")
    return None if module is None else cast(Samples, module.Samples(fd))


def make_open_file(waiting: deque[tuple[bytes, int]] | None, pending: list[Any], statm: int) -> Any:
    """Return an open file that also records a boundary in one call; ``None`` where that is not to be had.

    It is what ``recording.parts.AnyFile`` describes, and has a method ``point``, which ``_points.c`` does.

    Args:
        waiting: lines that wait, and how many records they are; ``None``: nothing is written.
        pending: takes the fields of boundaries.
        statm: descriptor of ``/proc/self/statm``.
    """
    module = _small_module("_points")
    return None if module is None else module.OpenFile(waiting, pending, statm)


def tracing() -> Tracing | None:
    """Return what traces some of all allocations; ``None`` where that is not to be had."""
    return cast("Tracing | None", _small_module("_tracing"))


def _small_module(name: str) -> ModuleType | None:
    if _in_python or not _may_be_native():
        return None
    try:
        module = importlib.import_module(f"phaseprof.native.{name}")
    except ImportError:
        return None
    return module if module.interface == INTERFACES[name] else None


@contextmanager
def passes_in_python() -> Iterator[None]:
    """Run the passes in Python, for comparison."""
    global _in_python
    before, _in_python = _in_python, True
    try:
        yield
    finally:
        _in_python = before


def addresses(ids: Iterable[int]) -> bytes:
    """Return ids as the extension takes them."""
    return array("Q", ids).tobytes()


def limit_or_none(limit_s: float | None) -> float:
    """Return a limit as the extension takes it: 0 is none, and none that is over already."""
    return 0.0 if limit_s is None else max(limit_s, 1e-9)


def _may_be_native() -> bool:
    return os.environ.get("PHASEPROF_NATIVE", "1") != "0"


@cache
def _find() -> _Found:
    if not _may_be_native():
        return _Found(None, "PHASEPROF_NATIVE=0")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return _Found(None, "a free-threaded Python")
    try:
        module = cast(Extension, importlib.import_module("phaseprof.native._heap"))
    except ImportError:
        return _Found(None, "the extension was not built")
    if getattr(module, "interface", 0) != INTERFACE:
        return _Found(None, "the extension was built from other sources")
    return _Found(module, "") if _is_right(module) else _Found(None, "the extension does not know this Python")


def _is_right(module: Extension) -> bool:
    """Try the extension on objects of which the answer is known, before it goes near a program's."""

    class Probe:
        def __init__(self) -> None:
            self.first, self.second = [1], {2}

    probes = [Probe() for _ in range(3)]

    def reader() -> list[tuple[str, object]]:
        return module.local_values(sys._getframe()) if probes else []

    try:
        # Among the young objects, which are few, unless a collection has just moved them.
        is_counted = len(module.pick((Probe,), 0, 1)) == 3 or module.count((Probe,)) == [3]
    except RuntimeError:
        return False
    return is_counted and layout.is_understood() and dict(reader()).get("probes") is probes
