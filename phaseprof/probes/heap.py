"""One walk over the heap that serves several consumers: counts, containers, storages and arrays."""

from __future__ import annotations

import gc
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import cast

from phaseprof.probes import arrays as array_probe
from phaseprof.probes import own, tensors, walk
from phaseprof.probes.census import names_of
from phaseprof.probes.typeinfo import TypeFilter, c_sizeof, tally_types, type_name

__all__ = ["HeapReading", "container_lengths", "read_heap"]

# Exact types whose length is a C field: no stranger's __len__ can run.
_CONTAINERS: tuple[type, ...] = (list, dict, set, deque, OrderedDict, defaultdict, Counter)
_BUFFERS: tuple[type, ...] = (bytes, bytearray)


@dataclass(frozen=True)
class HeapReading:
    """What one walk found; what was not asked for is empty. Our own objects are left out.

    Attributes:
        n_objects: objects that the collector tracks.
        counts: tracked objects by qualified type name.
        containers: id -> (type name, length, bytes of the container's own table) of builtin containers at least
            ``min_length`` long, untracked dicts among them.
        storages: device -> (count, bytes) of torch storages, each once.
        arrays: (count, bytes) of numpy buffers, each once; memory shared with a torch storage is counted here only.
        untracked: type name -> (count, bytes) of ``bytes``, ``bytearray`` and, if asked, ``str`` that containers hold.
        pinned: numpy buffers that only much smaller views keep alive.
    """

    n_objects: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    containers: Mapping[int, tuple[str, int, int]] = field(default_factory=dict)
    storages: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    arrays: tuple[int, int] = (0, 0)
    untracked: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    pinned: array_probe.PinnedViews = array_probe.PinnedViews(0, 0, 0)


@dataclass(frozen=True)
class HeapQuestions:
    """What to look for in one walk.

    Attributes:
        counts: count tracked objects by type.
        containers: list long builtin containers.
        storages: add up torch storages by device.
        arrays: add up numpy buffers.
        buffers: add up ``bytes`` and ``bytearray``.
        strings: add up ``str``; they are many, and most are names in code.
        min_length: shortest container to list.
    """

    counts: bool = True
    containers: bool = True
    storages: bool = True
    arrays: bool = True
    buffers: bool = False
    strings: bool = False
    min_length: int = 64
