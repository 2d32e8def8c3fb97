"""Looks at what the collector tracks, and at what it does not track behind that, in one call in C.

Nothing that is looked at is referred to, but for what the caller asks to be handed out.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntFlag
from itertools import chain, starmap
from typing import NamedTuple, cast

from phaseprof.native.array_layout import array_type, dtype_layout
from phaseprof.native.extension import addresses, extension
from phaseprof.native.kinds import TRUSTED
from phaseprof.probes import own
from phaseprof.probes.array_items import array_items
from phaseprof.probes.typeinfo import with_subclasses

__all__ = [
    "Action",
    "Detail",
    "Look",
    "Owner",
    "Record",
    "count",
    "hidden_parents",
    "holders_of",
    "is_available",
    "look",
    "pick",
    "referrers",
]

_N_GENERATIONS = 3
_RECORD, _OWNER = struct.Struct("4q"), struct.Struct("5q")
# Arrays of records may hold arrays of records in turn.
_MOST_LOOKS = 4


class Action(IntFlag):
    """What is done with the objects of one exact type."""

    COUNT = 1
    RECORD = 2
    HAND_OUT = 4
    ARRAY = 8
    DETAIL = 16
    HAS_LENGTH = 32  # its ``__len__`` is the interpreter's


class Record(NamedTuple):
    """One object that was recorded: its own bytes are without what lies before it."""

    cls: type
    id: int
    length: int
    bytes: int


class Owner(NamedTuple):
    """Memory of numpy arrays, by the array that owns it.

    Attributes:
        id: of that array.
        bytes: its size.
        address: of its first item.
    """

    id: int
    bytes: int
    address: int


class Detail(NamedTuple):
    """The widest array on a large buffer: ids of owner and array, its type, item type, shape and bytes."""

    owner: int
    id: int
    cls: type
    dtype: object
    shape: tuple[int, ...]
    span: int


class Look(NamedTuple):
    """What one look found.

    Attributes:
        tally: number of tracked objects of each exact type, without what the look made itself.
        counts: number of the objects of each type, in the order of the types.
        records: what was recorded.
        owners: memory of arrays that own it.
        details: of buffers of at least the least size.
        foreign: arrays that stand on memory of what is no array; the caller drops them.
        handed: what was asked for; the caller drops it at once.
        n_arrays: arrays, views as well.
    """

    tally: list[tuple[type, int]]
    counts: list[int]
    records: list[Record]
    owners: list[Owner]
    details: list[Detail]
    foreign: list[object]
    handed: list[object]
    n_arrays: int


def is_available() -> bool:
    """Say whether looks are made in C: the extension is there, and knows how numpy, if loaded, lays out arrays."""
    return extension() is not None and dtype_layout() is not None


def look(
    wanted: Mapping[Action, Sequence[type]],
    *,
    skip: Collection[int] = (),
    is_deep: bool = True,
    shows_keys: bool = False,
    min_bytes: int = 0,
) -> Look | None:
    """Look at all that the collector tracks, and by the way at what it does not track behind that.

    Args:
        wanted: what is done -> with the objects of which exact types; a type may be there more than once.
        skip: ids of objects with which nothing is done.
        is_deep: go to what is not tracked, through tuples, dicts and arrays that are not tracked, and running
            functions' locals.
        shows_keys: go to keys of dicts that are all text, too.
        min_bytes: smallest object to record, its header included.

    Returns:
        ``None`` where there is no extension, or numpy lays out arrays otherwise than is known.

    Cost: 25 ns an object, 50 where it is deep, and 24 bytes for each object that is found behind others.
    """
    module = extension()
    layout = dtype_layout() if module is not None and is_deep else (0, 0)
    if module is None or layout is None:
        return None
    arrays = _array_types() if is_deep else []
    classes = (*chain.from_iterable(wanted.values()), *arrays)
    actions = b"".join(bytes([action]) * len(group) for action, group in ((*wanted.items(), (Action.ARRAY, arrays))))
    limits = (is_deep, shows_keys, min_bytes)
    starts: list[object] = []
    inputs = (actions, layout, addresses(skip), starts, own.FOLDERS, TRUSTED, *limits)
    ours = (wanted, *wanted.values(), skip, arrays, classes, limits, starts, inputs)
    try:
        for _ in range(_MOST_LOOKS):
            answer = module.look(classes, ours, *inputs)
            n_known, n_found = len(starts), _items_of(cast("list[object]", answer[6]), starts)
            if n_found == n_known:
                break
        return _read(answer, classes)
    finally:
        starts.clear()


def count(classes: Sequence[type]) -> list[int] | None:
    """Return how many tracked objects have each exact type.

    Returns:
        Numbers in the order of ``classes``, or ``None`` where there is no extension.

    Cost: 15 ns an object of the heap, however many classes are asked for.
    """
    module = extension()
    return None if module is None else module.count(tuple(classes))


def pick(classes: Iterable[type], *, young: bool = False) -> list[object] | None:
    """Return the tracked objects of exact types, oldest first; the caller drops them.

    Args:
        classes: the types.
        young: those of the collector's two young generations only.

    Returns:
        ``None`` where there is no extension.

    Cost: 15 ns an object.
    """
    module = extension()
    return None if module is None else module.pick(tuple(classes), 0, 1 if young else _N_GENERATIONS - 1)


def referrers(targets: tuple[object, ...]) -> list[object] | None:
    """List what refers to some objects, young ones first, but for the tuple itself and tuples that are not filled.

    Returns:
        ``None`` where there is no extension.

    Cost: 25 ns an object of the heap, however many targets there are.
    """
    module = extension()
    return None if module is None else module.referrers(targets)


def holders_of(ids: Iterable[int]) -> list[tuple[int, type, int]] | None:
    """Return id, type of a holder and its id for some holders of each object; nothing is referred to.

    Returns:
        ``None`` where there is no extension.

    Cost: that of ``referrers``.
    """
    module = extension()
    return None if module is None else module.holders(addresses(ids))


def hidden_parents(ids: Iterable[int]) -> list[tuple[object, object]] | None:
    """Return parent and child for each tuple, dict and array that is not tracked and leads to one of the objects.

    Returns:
        ``None`` where there is no extension; the caller drops the pairs.

    Cost: 50 ns an object of the heap.
    """
    module = extension()
    return None if module is None else module.hidden_parents(addresses(ids), tuple(_array_types()))


def _read(answer: tuple[object, ...], classes: Sequence[type]) -> Look:
    details, tally, counts, records, owners, foreign, _, handed, n_arrays = answer
    return Look(
        tally=cast("list[tuple[type, int]]", tally),
        counts=cast("list[int]", counts),
        records=[Record(classes[kind], *rest) for kind, *rest in _RECORD.iter_unpack(cast("bytes", records))],
        owners=[Owner(*columns[:3]) for columns in _OWNER.iter_unpack(cast("bytes", owners))],
        details=list(starmap(Detail, cast("list[tuple[int, int, type, object, tuple[int, ...], int]]", details))),
        foreign=cast("list[object]", foreign),
        handed=cast("list[object]", handed),
        n_arrays=cast("int", n_arrays),
    )


def _array_types() -> list[type]:
    ndarray = array_type()
    return [] if ndarray is None else with_subclasses([ndarray])


def _items_of(structured: list[object], starts: list[object]) -> int:
    """Put the items of arrays of records among the starts; return how many there are then."""
    try:
        if structured:
            starts[:] = array_items(structured)
        return len(starts)
    finally:
        structured.clear()
