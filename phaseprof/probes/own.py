"""Know our own objects, so that no census, size or holder speaks of the profiler itself."""

from __future__ import annotations

import gc
import mmap
import os
import sys
import weakref
from array import array
from collections import OrderedDict, defaultdict, deque
from itertools import compress
from operator import not_
from types import FrameType

from phaseprof.native.extension import Extension, extension
from phaseprof.probes.typeinfo import type_name
from phaseprof.records import is_own_name

_PACKAGE_DIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")  # noqa: PTH118, PTH120, PTH100 - prefix of co_filename, compared as text
_STUDIED_DIR = os.path.join(_PACKAGE_DIR, "demo", "")  # noqa: PTH118 - as above
# Code of the first one is ours, but for that of the second.
FOLDERS = (_PACKAGE_DIR, _STUDIED_DIR)

# What may stand between two of our objects; below anything else the user's world could begin.
_CONTAINERS = (dict, list, tuple, set, frozenset, deque, OrderedDict, defaultdict)
_PLAIN_CONTAINERS = frozenset(_CONTAINERS)
_ATOMS = frozenset({int, float, str, bool, type(None)})
_BUFFERS = (bytes, bytearray, memoryview, mmap.mmap)
_PLAIN_BUFFERS = frozenset(_BUFFERS)
# A ring of a million readings is one object; this many are a mistake, and the walk must stay cheap.
_MAX_OWN_OBJECTS = 200_000

_roots: weakref.WeakSet[object] = weakref.WeakSet()


def register(root: object) -> None:
    """Name an object of ours (a profiler) whose plain containers and buffers are not the user's.

    Held weakly. What it reaches through instances of our types and builtin containers is ours; user objects must
    not be held strongly there.
    """
    _roots.add(root)


def is_own_type(cls: type) -> bool:
    """Say whether a class is one of phaseprof's; no code of the class runs.  The demonstration program is a user's."""
    return is_own_name(type_name(cls))


def is_own_frame(frame: FrameType) -> bool:
    """Say whether a frame runs our code; the demonstration program's is a user's."""
    name = frame.f_code.co_filename
    return name.startswith(_PACKAGE_DIR) and not name.startswith(_STUDIED_DIR)


def own_ids() -> frozenset[int]:
    """Return ids of the containers and buffers that registered roots hold, the roots among them.

    Cost: about 0.05 µs for each object of ours, 0.4 µs without the extension; at most 200,000 are followed.
    """
    native = extension()
    if native is not None:
        return frozenset(array("Q", _follow_in_c(native)[0]))
    seen = _follow()
    try:
        return frozenset(seen)
    finally:
        seen.clear()


def own_tally() -> dict[type, int]:
    """Count our plain containers and buffers by exact type, those that are tracked.  Cost: that of ``own_ids``."""
    native = extension()
    if native is not None:
        counts_in_c = _follow_in_c(native)[1]
        return {cls: n for cls, n in zip((*_CONTAINERS, *_BUFFERS), counts_in_c, strict=False) if n}
    seen = _follow()
    counts: dict[type, int] = {}
    try:
        for obj in seen.values():
            cls = type(obj)
            if (cls in _PLAIN_CONTAINERS or cls in _PLAIN_BUFFERS) and gc.is_tracked(obj):
                counts[cls] = counts.get(cls, 0) + 1
        return counts
    finally:
        seen.clear()


def _follow_in_c(native: Extension) -> tuple[bytes, tuple[int, ...]]:
    numpy = sys.modules.get("numpy")
    plain = (*_CONTAINERS, *_BUFFERS, *(() if numpy is None else (numpy.ndarray,)))
    return native.own(list(_roots), plain, len(_CONTAINERS), _MAX_OWN_OBJECTS)


def _follow() -> dict[int, object]:
    """Return our objects by id, in levels from the roots; the caller clears the result."""
    seen: dict[int, object] = {}
    level: list[object] = list(_roots)
    try:
        while level and len(seen) < _MAX_OWN_OBJECTS:
            ours = {key for key, cls in {id(type(o)): type(o) for o in level}.items() if _is_ours(cls)}
            fresh = {id(o): o for o in level if id(type(o)) in ours and id(o) not in seen}
            seen.update(fresh)
            level = gc.get_referents(*[o for o in fresh.values() if type(o) not in _PLAIN_BUFFERS])
            # Most of what we hold is numbers and text: dropped in C, before anything is asked of each.
            level = list(compress(level, map(not_, map(_ATOMS.__contains__, map(type, level)))))
        return seen
    finally:
        level.clear()


def _is_ours(cls: type) -> bool:
    """Whether what our objects hold of a type is ours: asked once for each type, since most are of a few."""
    if type(cls) is not type:  # an unusual metaclass may hash in Python; our own classes are named below all the same
        return is_own_type(cls)
    if cls in _PLAIN_CONTAINERS or cls in _PLAIN_BUFFERS:
        return True
    numpy = sys.modules.get("numpy")
    return (numpy is not None and cls is numpy.ndarray) or is_own_type(cls)
