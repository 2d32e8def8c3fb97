"""One walk over the heap that serves several consumers: counts, containers, storages and arrays."""

from __future__ import annotations

import gc
import io
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, cast

from phaseprof.native import looking
from phaseprof.native.looking import Action
from phaseprof.probes import arrays as array_probe
from phaseprof.probes import own, tensors, walk
from phaseprof.probes.census import names_of
from phaseprof.probes.held import held_where_needed
from phaseprof.probes.typeids import TypeFilter, made_by_looks_in_c, without
from phaseprof.probes.typeinfo import c_sizeof, type_name
from phaseprof.probes.uninterrupted import pick, pick_values, uninterrupted

if TYPE_CHECKING:
    import numpy as np
    import torch

__all__ = [
    "HeapReading",
    "buffer_sizes",
    "buffers_of",
    "container_lengths",
    "container_of",
    "long_containers",
    "read_heap",
]

# Exact types whose length is a C field: no stranger's __len__ can run.
CONTAINERS: tuple[type, ...] = (list, dict, set, deque, OrderedDict, defaultdict, Counter)
# Exact types that own bytes which no container shows, by the name they are filed under.
BUFFERS: dict[str, type] = {"bytes": bytes, "bytearray": bytearray, "array": array, "BytesIO": io.BytesIO}
_NO_ARRAYS = array_probe.ArrayCensus()


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
        untracked: type name -> (count, bytes) of ``BUFFERS`` and, if asked, ``str`` that containers hold.
        pinned: numpy buffers that only much smaller views keep alive.
        partial: the walk met its deadline: arrays, untracked objects and untracked dicts are lower bounds.
    """

    n_objects: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    containers: Mapping[int, tuple[str, int, int]] = field(default_factory=dict)
    storages: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    arrays: tuple[int, int] = (0, 0)
    untracked: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    pinned: array_probe.PinnedViews = field(default_factory=array_probe.PinnedViews)
    partial: bool = False


def read_heap(
    *,
    counts: bool = True,
    containers: bool = True,
    storages: bool = True,
    arrays: bool = True,
    strings: bool = False,
    min_length: int = 64,
    deadline_s: float | None = None,
) -> HeapReading:
    """Walk the heap once for everything asked.

    Args:
        counts: count tracked objects by type.
        containers: list builtin containers of at least ``min_length`` items.
        storages: add up torch storages by device.
        arrays: add up numpy buffers, and the ``BUFFERS`` that containers hold.
        strings: add up ``str`` too; they are many, and most are names in code.
        min_length: shortest container to list.
        deadline_s: stop the walk to untracked objects after so many seconds, with a reading that is marked as partial.
            The list of the tracked ones is one call that cannot be stopped.

    Cost: in C 50 ns an object, and 1 µs a tensor for storages.  In Python 85 ns an object for the list and the counts
    by type, which are shared by all; 60 for containers and 20 for storages besides 1 µs a tensor; the walk to untracked
    objects, shared by containers and arrays, 250.  Nothing is kept; memory of about 32 bytes an object while it runs.
    Other threads wait until it ends.
    Trap: in Python the walk writes the reference count of every object that it meets; pages that forked children share
    with this process are copied by it.
    """
    asked = _Asked(counts, containers, storages, arrays, strings, min_length, deadline_s)
    return _read(asked)


class _Asked(NamedTuple):
    counts: bool
    containers: bool
    storages: bool
    arrays: bool
    strings: bool
    min_length: int
    deadline_s: float | None


@held_where_needed
def _read(asked: _Asked) -> HeapReading:
    found = _look(asked)
    if found is None:
        return _read_in_python(asked)
    try:
        summary = array_probe.summarise_look(found) if asked.arrays and "numpy" in sys.modules else _NO_ARRAYS
        shared = array_probe.owner_addresses(found) if asked.arrays else frozenset()
        tally = without(found.tally, made_by_looks_in_c())
        return HeapReading(
            n_objects=sum(n for _, n in tally),
            counts=names_of(tally) if asked.counts else {},
            containers=recorded_containers(found),
            storages=_by_device(cast("list[torch.Tensor]", found.handed), shared),
            arrays=(len(summary.buffers), sum(summary.buffers.values())),
            untracked=_added_up(asked, found),
            pinned=summary.pinned,
            partial=found.is_partial,
        )
    finally:
        found.foreign.clear()
        found.handed.clear()


def _look(asked: _Asked) -> looking.Look | None:
    buffers = list(_buffer_types(strings=asked.strings).values()) if asked.arrays or asked.strings else []
    return looking.look(
        {
            Action.ADD_UP: buffers,
            Action.RECORD | Action.HAS_LENGTH: CONTAINERS if asked.containers else (),
            Action.HAND_OUT: tensors.tensor_types() if asked.storages else (),
        },
        skip=own.own_ids(),
        is_deep=asked.containers or asked.arrays or asked.strings,
        shows_keys=asked.strings,
        min_length=asked.min_length,
        limit_s=asked.deadline_s,
    )


def recorded_containers(found: looking.Look) -> dict[int, tuple[str, int, int]]:
    """Return what a look in C recorded as ``HeapReading.containers``."""
    return {one.id: (type_name(one.cls), one.length, one.bytes) for one in found.records}


def _buffer_types(*, strings: bool) -> dict[str, type]:
    return {**BUFFERS, "str": str} if strings else BUFFERS


def _added_up(asked: _Asked, found: looking.Look) -> dict[str, tuple[int, int]]:
    if not (asked.arrays or asked.strings):
        return {}
    sums = zip(_buffer_types(strings=asked.strings), found.sums, strict=False)
    return {name: (n, size) for name, (n, size) in sums if n}


def _read_in_python(asked: _Asked) -> HeapReading:
    counts, containers, storages, arrays, strings, min_length, deadline_s = asked
    deadline = walk.Deadline(deadline_s)
    with walk.Tracked() as tracked:
        reached: list[object] = []
        found: list[np.ndarray] = []
        try:
            if containers or arrays or strings:
                wanted = _untracked_types(containers=containers, arrays=arrays, strings=strings)
                reached = walk.reach(tracked, wanted=wanted, deadline=deadline)
            found = array_probe.collect_arrays(tracked, reached) if arrays else []
            summary = array_probe.summarise(found) if found else _NO_ARRAYS
            return HeapReading(
                n_objects=tracked.n_objects,
                counts=names_of(tracked.tally) if counts else {},
                containers=_containers(tracked, reached, min_length) if containers else {},
                storages=_storages_by_device(tracked, found) if storages else {},
                arrays=(len(summary.buffers), sum(summary.buffers.values())),
                untracked=_sizes_by_type(tracked, reached, strings=strings) if arrays or strings else {},
                pinned=summary.pinned,
                partial=deadline.was_met,
            )
        finally:
            reached.clear()
            found.clear()


def container_lengths(ids: Collection[int], *, reach_untracked: bool = True) -> dict[int, int]:
    """Return the length of each builtin container among the given ids that is still alive.

    Args:
        ids: ids from an earlier ``HeapReading.containers``. An id can have been given to a new container since.
        reach_untracked: look for ids that the collector does not list among untracked dicts too.

    Cost: in C 25 to 50 ns an object; in Python 150, and four times that where an id is not found and
    ``reach_untracked`` is set.
    """
    wanted = frozenset(ids)
    looked = looking.look({Action.RECORD | Action.HAS_LENGTH: CONTAINERS}, only=wanted, is_deep=reach_untracked)
    if looked is not None:
        looked.foreign.clear()
        return {one.id: one.length for one in looked.records}
    found, lengths = pick_values(gc.get_objects, CONTAINERS, id, len)
    known = {key: n for key, n in zip(found, lengths, strict=True) if key in wanted}
    return {**_hidden_lengths(wanted), **known} if reach_untracked and len(known) < len(wanted) else known


@uninterrupted
def _hidden_lengths(wanted: Collection[int]) -> dict[int, int]:
    hidden = walk.find_untracked([dict])
    try:
        return {id(o): len(cast("dict[object, object]", o)) for o in hidden if id(o) in wanted}
    finally:
        hidden.clear()


def _containers(tracked: walk.Tracked, reached: list[object], min_length: int) -> dict[int, tuple[str, int, int]]:
    candidates = tracked.pick(CONTAINERS)
    try:
        candidates += TypeFilter([dict]).pick(reached)
        return long_containers(candidates, min_length)
    finally:
        candidates.clear()


def _untracked_types(*, containers: bool, arrays: bool, strings: bool) -> list[type]:
    wanted: list[type] = [dict] if containers else []
    if arrays:
        wanted += [*walk.array_types(), *BUFFERS.values()]
    return [*wanted, str] if strings else wanted


def long_containers(candidates: Sequence[object], min_length: int) -> dict[int, tuple[str, int, int]]:
    """List containers of exact types in ``CONTAINERS`` as ``HeapReading.containers`` does, without our own.

    Cost: 60 ns a candidate.
    """
    ours = own.own_ids()
    sizes = {cls: (type_name(cls), c_sizeof(cls)) for cls in CONTAINERS}
    found: dict[int, tuple[str, int, int]] = {}
    lengths = map(len, cast("Sequence[list[object]]", candidates))
    for container in compress(candidates, map(min_length.__le__, lengths)):
        if id(container) not in ours:
            name, sizeof = sizes[type(container)]
            found[id(container)] = (name, len(cast("list[object]", container)), sizeof(container))
    return found


def _storages_by_device(tracked: walk.Tracked, arrays: list[np.ndarray]) -> dict[str, tuple[int, int]]:
    family = tensors.tensor_types()
    if not family:
        return {}
    live = cast("list[torch.Tensor]", tracked.pick(family))
    return _by_device(live, array_probe.buffer_addresses(arrays))


def _by_device(live: list[torch.Tensor], shared: Collection[int]) -> dict[str, tuple[int, int]]:
    totals: dict[str, tuple[int, int]] = {}
    for size, device in tensors.storages_of(live, except_at=shared).values():
        count, total = totals.get(device, (0, 0))
        totals[device] = (count + 1, total + size)
    return totals


def _sizes_by_type(tracked: walk.Tracked, reached: list[object], *, strings: bool) -> dict[str, tuple[int, int]]:
    sizes: dict[str, tuple[int, int]] = {}
    ours = own.own_ids()
    for name, cls in _buffer_types(strings=strings).items():
        found = [o for o in (*TypeFilter([cls]).pick(reached), *tracked.pick([cls])) if id(o) not in ours]
        if found:
            sizes[name] = (len(found), sum(map(c_sizeof(cls), found)))
    return sizes


def buffer_sizes(name: str, min_bytes: int) -> dict[int, int]:
    """Return id and bytes of the buffers of one type of ``BUFFERS`` that take at least so many bytes.

    Cost: a walk to what the collector does not track, about 50 ns an object in C, 200 in Python.
    """
    found = looking.look({Action.RECORD: [BUFFERS[name]]}, skip=own.own_ids(), min_bytes=min_bytes)
    if found is None:
        return _buffer_sizes_in_python(name, min_bytes)
    found.foreign.clear()
    return {one.id: one.bytes for one in found.records if one.bytes >= min_bytes}


@uninterrupted
def _buffer_sizes_in_python(name: str, min_bytes: int) -> dict[int, int]:
    return {id(buffer): size for buffer, size in _find_buffers(name, min_bytes)}


def buffers_of(name: str, ids: Collection[int]) -> list[object]:
    """Return the buffers of one type of ``BUFFERS`` that have one of the ids; the caller drops them soon.

    For functions that are ``uninterrupted``.  Cost: that of ``buffer_sizes``.
    """
    found = looking.look({Action.HAND_OUT: [BUFFERS[name]]}, only=ids)
    if found is None:
        return [buffer for buffer, _ in _find_buffers(name, 0) if id(buffer) in ids]
    found.foreign.clear()
    return found.handed


def container_of(identity: int) -> list[object]:
    """Return the builtin container with an id in a list, an empty one where there is none; the caller drops it.

    For functions that are ``uninterrupted``.  Cost: 50 ns an object in C, 60 to 300 in Python.
    """
    looked = looking.look({Action.HAND_OUT: CONTAINERS}, only=(identity,))
    if looked is not None:
        looked.foreign.clear()
        return looked.handed
    tracked = pick(gc.get_objects, CONTAINERS)
    try:
        chosen = [o for o in tracked if id(o) == identity]
    finally:
        tracked.clear()
    return chosen or [o for o in walk.find_untracked([dict]) if id(o) == identity]


def _find_buffers(name: str, min_bytes: int) -> list[tuple[object, int]]:
    cls = BUFFERS[name]
    sizeof = c_sizeof(cls)
    ours = own.own_ids()
    with walk.Tracked() as tracked:
        found = [*tracked.pick([cls]), *walk.reach(tracked, wanted=[cls])]
        try:
            return [(o, size) for o in found if (size := sizeof(o)) >= min_bytes and id(o) not in ours]
        finally:
            found.clear()
