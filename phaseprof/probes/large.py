"""The largest single objects: buffers, storages, strings and containers' own tables."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from phaseprof.probes import arrays as array_probe
from phaseprof.probes import own, tensors, walk
from phaseprof.probes.heap import CONTAINERS
from phaseprof.probes.typeids import TypeFilter
from phaseprof.probes.typeinfo import c_sizeof, header_bytes, type_name
from phaseprof.probes.uninterrupted import referrers, uninterrupted
from phaseprof.records import LargeObject
from phaseprof.units import MIB

if TYPE_CHECKING:
    import numpy as np
    import torch

__all__ = ["large_objects"]


class _Candidate(NamedTuple):
    """Large memory, and the Python objects over it by which its holder is found; the first one names it."""

    size_bytes: int
    faces: list[object]
    detail: str


@uninterrupted
def large_objects(min_bytes: int = 10 * MIB, limit: int = 20) -> list[LargeObject]:
    """List the objects whose own memory is at least ``min_bytes``, largest first.

    An array or tensor stands for its whole buffer or storage, once however many views there are; a container for its
    table, without what it holds. The holder is the type of one direct referrer, named where it is a module.

    Cost: that of a full walk (some 400 ns an object), and one more pass over the heap for the holders if any is found.
    """
    found: list[_Candidate] = []
    try:
        found = _find(min_bytes)
        found.sort(key=lambda candidate: -candidate.size_bytes)
        del found[limit:]
        holders = _holders(found)
        return [
            LargeObject(type_name(type(c.faces[0])), c.size_bytes, _first_holder(c.faces, holders), c.detail)
            for c in found
        ]
    finally:
        found.clear()


def _find(min_bytes: int) -> list[_Candidate]:
    reached: list[object] = []
    arrays: list[np.ndarray] = []
    with walk.Tracked() as tracked:
        try:
            wanted = [dict, bytes, bytearray, str, *walk.array_types()]
            reached = walk.reach(tracked, wanted=wanted, min_bytes=min_bytes)
            arrays = array_probe.collect_arrays(tracked, reached)
            plain = tracked.pick(CONTAINERS) + TypeFilter([dict, bytes, bytearray, str]).pick(reached)
            live = cast("list[torch.Tensor]", tracked.pick(tensors.tensor_types()))
            return [
                *_large_plain(plain, min_bytes),
                *_large_arrays(arrays, min_bytes),
                *_large_storages(live, min_bytes, array_probe.buffer_addresses(arrays)),
            ]
        finally:
            reached.clear()
            arrays.clear()


def _large_plain(plain: list[object], min_bytes: int) -> list[_Candidate]:
    ours = own.own_ids()
    measures = {cls: (c_sizeof(cls), header_bytes(cls)) for cls in (*CONTAINERS, bytes, bytearray, str)}
    found = []
    for obj in plain:
        sizeof, header = measures[type(obj)]
        size = sizeof(obj) + header
        if size >= min_bytes and id(obj) not in ours:
            found.append(_Candidate(size, [obj], f"{len(cast('list[object]', obj)):,} items"))
    return found


def _large_arrays(arrays: Iterable[object], min_bytes: int) -> list[_Candidate]:
    """Choose for each large buffer the widest array over it that a container holds."""
    if "numpy" not in sys.modules:
        return []
    locate = array_probe.BufferLocator()
    ours = own.own_ids()
    widest: dict[int, tuple[int, _Candidate]] = {}
    for array_ in arrays:
        buffer = locate(array_)
        if buffer is None or buffer.size_bytes < min_bytes or buffer.owner_id in ours:
            continue
        span = locate.nbytes(array_)
        if buffer.owner_id not in widest or span > widest[buffer.owner_id][0]:
            detail = locate.describe(array_)
            if span < buffer.size_bytes:
                detail = f"a view {detail} keeps it"
            widest[buffer.owner_id] = (span, _Candidate(buffer.size_bytes, [array_], detail))
    return [candidate for _, candidate in widest.values()]


def _large_storages(live: list[torch.Tensor], min_bytes: int, except_at: frozenset[int]) -> list[_Candidate]:
    return [
        _Candidate(size, list(over), f"{tensors.describe(over[0])} on {device}")
        for size, device, over in tensors.large_storages(live, min_bytes, except_at=except_at)
    ]


def _first_holder(faces: list[object], holders: dict[int, str]) -> str:
    """Choose a holder: of several tensors on one storage some may be held by C++ only."""
    return next((holders[id(face)] for face in faces if id(face) in holders), "")


def _holders(found: list[_Candidate]) -> dict[int, str]:
    """Name the type of one direct referrer of each face, in one pass over the heap."""
    objects = [face for candidate in found for face in candidate.faces]
    if not objects:
        return {}
    ours = {id(objects), *(id(candidate.faces) for candidate in found)}
    wanted = frozenset(map(id, objects))
    modules = {id(vars(m)): name for name, m in reversed(list(sys.modules.items())) if type(m) is ModuleType}
    found = referrers(tuple(objects))
    holders: dict[int, str] = {}
    try:
        for referrer in found:
            if (
                id(referrer) in ours
                or own.is_own_type(type(referrer))
                or issubclass(type(referrer), (FrameType, ModuleType))
            ):
                continue
            module = modules.get(id(referrer))
            label = f"module {module}" if module is not None else type_name(type(referrer))
            for held in wanted.intersection(map(id, gc.get_referents(referrer))):
                holders.setdefault(held, label)
        return holders
    finally:
        found.clear()
