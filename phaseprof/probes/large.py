"""The largest single objects: buffers, storages, strings and containers' own tables."""

from __future__ import annotations

import gc
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from phaseprof.native import looking
from phaseprof.native.looking import Action
from phaseprof.probes import arrays as array_probe
from phaseprof.probes import own, tensors, walk
from phaseprof.probes.held import held_where_needed
from phaseprof.probes.holding.reading import is_unsafe
from phaseprof.probes.typeids import TypeFilter
from phaseprof.probes.typeinfo import c_sizeof, header_bytes, type_name
from phaseprof.probes.uninterrupted import referrers
from phaseprof.records import LargeObject
from phaseprof.units import MIB

if TYPE_CHECKING:
    import numpy as np
    import torch

__all__ = ["large_objects"]

# Exact types whose length is a C field: no stranger's __len__ can run.
CONTAINERS: tuple[type, ...] = (list, dict, set, deque, OrderedDict, defaultdict, Counter)
_PLAIN = (*CONTAINERS, bytes, bytearray, str)


class _Candidate(NamedTuple):
    """Large memory, and the ids of the Python objects over it by which its holder is found; ``cls`` names it."""

    size_bytes: int
    cls: type
    faces: list[int]
    detail: str


@held_where_needed
def large_objects(min_bytes: int = 10 * MIB, limit: int = 20) -> list[LargeObject]:
    """List the objects whose own memory is at least ``min_bytes``, largest first.

    An array or tensor stands for its whole buffer or storage, once however many views there are; a container for its
    table, without what it holds. The holder is the type of one direct referrer, named where it is a module.

    Cost: in C two passes over the heap, 80 ns an object; in Python that of a full walk (some 400 ns an object), and one
    more pass for the holders if any is found.
    """
    kept: list[object] = []  # what stands over large memory, where the passes are in Python
    try:
        found = _find(min_bytes)
        if found is None:
            found = _find_in_python(min_bytes, kept)
        found.sort(key=lambda candidate: -candidate.size_bytes)
        del found[limit:]
        holders = _holders(found, kept)
        return [LargeObject(type_name(c.cls), c.size_bytes, _first_holder(c.faces, holders), c.detail) for c in found]
    finally:
        kept.clear()


def _find(min_bytes: int) -> list[_Candidate] | None:
    wanted: dict[Action, Sequence[type]] = {
        Action.RECORD | Action.HAS_LENGTH: _PLAIN,
        Action.DETAIL: walk.array_types(),
        Action.HAND_OUT: tensors.tensor_types(),
    }
    found = looking.look(wanted, skip=own.own_ids(), shows_keys=True, min_bytes=min_bytes)
    if found is None:
        return None
    headers = {cls: header_bytes(cls) for cls in _PLAIN}
    try:
        return [
            *(
                _Candidate(one.bytes + headers[one.cls], one.cls, [one.id], f"{one.length:,} items")
                for one in found.records
                if one.bytes + headers[one.cls] >= min_bytes
            ),
            *_detailed_arrays(found),
            *_large_arrays(found.foreign, min_bytes, known=frozenset(one.owner for one in found.details)),
            *_large_storages(
                cast("list[torch.Tensor]", found.handed), min_bytes, array_probe.owner_addresses(found), []
            ),
        ]
    finally:
        found.foreign.clear()
        found.handed.clear()


def _detailed_arrays(found: looking.Look) -> Iterator[_Candidate]:
    sizes = {owner.id: owner.bytes for owner in found.owners}
    for widest in found.details:
        size = sizes[widest.owner]
        yield _Candidate(size, widest.cls, [widest.id], _described(f"{widest.dtype} {widest.shape}", widest.span, size))


def _described(detail: str, span: int, size: int) -> str:
    return detail if span >= size else f"a view {detail} keeps it"


def _find_in_python(min_bytes: int, kept: list[object]) -> list[_Candidate]:
    reached: list[object] = []
    arrays: list[np.ndarray] = []
    with walk.Tracked() as tracked:
        try:
            wanted = [dict, bytes, bytearray, str, *walk.array_types()]
            reached = walk.reach(tracked, wanted=wanted, min_bytes=min_bytes)
            arrays = array_probe.collect_arrays(tracked, reached)
            plain = tracked.pick(CONTAINERS) + TypeFilter([dict, bytes, bytearray, str]).pick(reached)
            live = cast("list[torch.Tensor]", tracked.pick(tensors.tensor_types()))
            found = [
                *_large_plain(plain, min_bytes),
                *_large_arrays(arrays, min_bytes),
                *_large_storages(live, min_bytes, array_probe.buffer_addresses(arrays), kept),
            ]
            faces = {face for candidate in found for face in candidate.faces}
            kept += [one for one in (*plain, *arrays) if id(one) in faces]
            return found
        finally:
            reached.clear()
            arrays.clear()


def _large_plain(plain: list[object], min_bytes: int) -> list[_Candidate]:
    ours = own.own_ids()
    measures = {cls: (c_sizeof(cls), header_bytes(cls)) for cls in _PLAIN}
    found = []
    for obj in plain:
        sizeof, header = measures[type(obj)]
        size = sizeof(obj) + header
        if size >= min_bytes and id(obj) not in ours:
            found.append(_Candidate(size, type(obj), [id(obj)], f"{len(cast('list[object]', obj)):,} items"))
    return found


def _large_arrays(arrays: Iterable[object], min_bytes: int, *, known: frozenset[int] = frozenset()) -> list[_Candidate]:
    """Choose for each large buffer whose owner is not known the widest array over it that a container holds."""
    if "numpy" not in sys.modules:
        return []
    locate = array_probe.BufferLocator()
    left_out = own.own_ids() | known
    widest: dict[int, tuple[int, _Candidate]] = {}
    for array_ in arrays:
        buffer = locate(array_)
        if buffer is None or buffer.size_bytes < min_bytes or buffer.owner_id in left_out:
            continue
        span = locate.nbytes(array_)
        if buffer.owner_id not in widest or span > widest[buffer.owner_id][0]:
            detail = _described(locate.describe(array_), span, buffer.size_bytes)
            widest[buffer.owner_id] = (span, _Candidate(buffer.size_bytes, type(array_), [id(array_)], detail))
    return [candidate for _, candidate in widest.values()]


def _large_storages(
    live: list[torch.Tensor], min_bytes: int, except_at: frozenset[int], kept: list[object]
) -> list[_Candidate]:
    found = []
    for size, device, over in tensors.large_storages(live, min_bytes, except_at=except_at):
        kept += over
        ids = list(map(id, over))
        found.append(_Candidate(size, type(over[0]), ids, f"{tensors.describe(over[0])} on {device}"))
    return found


def _first_holder(faces: list[int], holders: dict[int, str]) -> str:
    """Choose a holder: of several tensors on one storage some may be held by C++ only."""
    return next((holders[face] for face in faces if face in holders), "")


def _holders(found: list[_Candidate], kept: list[object]) -> dict[int, str]:
    """Name the type of one direct referrer of each face, in one pass over the heap."""
    wanted = frozenset(face for candidate in found for face in candidate.faces)
    if not wanted:
        return {}
    modules = {id(vars(m)): name for name, m in reversed(list(sys.modules.items())) if type(m) is ModuleType}
    pairs = looking.holders_of(wanted)
    holders: dict[int, str] = {}
    for held, cls, identity in _holders_in_python(wanted, kept) if pairs is None else pairs:
        if not (own.is_own_type(cls) or issubclass(cls, (FrameType, ModuleType))):
            module = modules.get(identity)
            holders.setdefault(held, f"module {module}" if module is not None else type_name(cls))
    return holders


def _holders_in_python(wanted: frozenset[int], kept: list[object]) -> list[tuple[int, type, int]]:
    objects = tuple(one for one in kept if id(one) in wanted)
    referring = referrers(objects)
    try:
        return [
            (held, type(referrer), id(referrer))
            for referrer in referring
            if referrer is not kept and not is_unsafe(referrer)
            for held in wanted.intersection(map(id, gc.get_referents(referrer)))
        ]
    finally:
        referring.clear()
