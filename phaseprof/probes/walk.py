"""Reach what the collector does not list: arrays, bytes, and the tuples and dicts it has stopped tracking.

``gc.get_objects()`` leaves out every object that cannot be part of a cycle. Such objects are found from the tracked
containers (and running functions' locals) that refer to them, through as many untracked tuples and dicts as it takes.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterable, Sequence
from itertools import chain, compress, islice, repeat
from operator import is_
from typing import cast

from phaseprof.native import looking
from phaseprof.probes.array_items import array_items
from phaseprof.probes.locals import local_values
from phaseprof.probes.own import is_own_frame
from phaseprof.probes.typeids import TypeFilter
from phaseprof.probes.typeinfo import loaded_module, types_hash_plainly, untracked, with_subclasses
from phaseprof.probes.uninterrupted import objects_but_tuples

# Large enough that the call's own cost vanishes, small enough that the list of referents stays in the cache.
_CHUNK = 2048
_TUPLES = TypeFilter([tuple])


class Tracked:
    """The objects that the collector tracks, tuples left out, for passes that share them.

    Tuples are left out since another thread may be building one: ``reach`` finds the finished ones through what holds
    them.  A context manager: what it holds is dropped at the end.  Used in functions that are ``uninterrupted``.

    Attributes:
        objects: the objects.
        types: id -> type of each that one of them has, tuples included.

    Cost: 90 ns an object.
    """

    def __init__(self) -> None:
        self.objects, classes = objects_but_tuples()
        self.types = dict(zip(map(id, classes), classes, strict=True))

    def __enter__(self) -> Tracked:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.objects.clear()

    def pick(self, wanted: Iterable[type]) -> list[object]:
        """Return the objects of exact types, but no tuples; no pass is made for types that none has."""
        return TypeFilter(cls for cls in wanted if id(cls) in self.types).pick(self.objects)


class _LargeBuffers:
    """Picks as a filter by type does, and leaves out small strings and bytes, which are most of a heap."""

    def __init__(self, wanted: Iterable[type], min_bytes: int, *, plain: bool) -> None:
        kinds = (str, bytes, bytearray)
        wanted = list(wanted)
        self._buffers = TypeFilter([cls for cls in wanted if any(map(is_, kinds, repeat(cls)))], plain=plain)
        self._others = TypeFilter([cls for cls in wanted if not any(map(is_, kinds, repeat(cls)))], plain=plain)
        # A character takes up to four bytes; no head of these takes more than 128.
        self._is_long = max(0, (min_bytes - 128) // 4).__le__

    def pick(self, objects: Sequence[object]) -> list[object]:
        """Return the objects of wanted types, of buffers those that may be large."""
        classes = list(map(type, objects))
        buffers = cast("list[str]", self._buffers.pick(objects, classes))
        return [*self._others.pick(objects, classes), *compress(buffers, map(self._is_long, map(len, buffers)))]


def reach(tracked: Tracked, *, wanted: Iterable[type], min_bytes: int = 0) -> list[object]:
    """Find the untracked objects of wanted types behind tracked ones, and tuples, each once.

    Args:
        tracked: where to start.
        wanted: exact types to return; ``dict`` may be among them, and ``tuple``: then tracked ones are found too.
        min_bytes: most strings, bytes and bytearrays that take less are left out, and cost little.

    Returns:
        The objects; the caller must drop the list at once.

    Cost: about 300 ns a tracked object, of which a third is the collector's and the rest is looking at types; 150 ns
    a tuple.
    """
    wanted = list(wanted)
    arrays = array_types()
    # The collector stops tracking tuples and dicts that hold nothing collectable, and never tracks arrays.
    on_the_way = [*wanted, tuple, dict, *arrays]
    plain = types_hash_plainly()
    look = _LargeBuffers(on_the_way, min_bytes, plain=plain) if min_bytes else TypeFilter(on_the_way, plain=plain)
    has_strings = any(cls is str for cls in wanted)  # not ``in``: a metaclass may define equality
    found: dict[int, object] = {}
    latest: list[object] = []
    try:
        _gather(found, _askable(tracked), look)
        _merge(found, running_locals(), look)
        _merge(found, array_items(tracked.pick(arrays)), look)
        if has_strings:
            _merge(found, dict_keys(tracked.pick([dict])), look)
        n_known = 0
        while len(found) > n_known:
            latest = list(islice(reversed(found.values()), len(found) - n_known))
            n_known = len(found)
            _gather(found, TypeFilter([tuple, dict]).pick(latest), look)
            _merge(found, array_items(TypeFilter(arrays).pick(latest)), look)
            if has_strings:
                _merge(found, dict_keys(TypeFilter([dict]).pick(latest)), look)
        return TypeFilter(wanted).pick(list(found.values()))
    finally:
        found.clear()
        latest.clear()


def find_untracked(wanted: Iterable[type]) -> list[object]:
    """Find every reachable instance of exact types that the collector does not track; the caller drops the list."""
    wanted = list(wanted)
    looked = looking.look({looking.Action.HAND_OUT: wanted})
    if looked is not None:
        looked.foreign.clear()
        try:
            return list(untracked(looked.handed))
        finally:
            looked.handed.clear()
    with Tracked() as tracked:
        return list(untracked(reach(tracked, wanted=wanted)))


def _askable(tracked: Tracked) -> list[object]:
    """Return the objects that may be asked for their referents: on Python 3.12 all but modules.

    There, the ``_asyncio`` module shows iterators that it has freed already; asking frees them a second time, and the
    next collection never ends.  Nothing is lost: a module's namespace is tracked itself.
    """
    if sys.version_info[:2] != (3, 12):
        return tracked.objects
    modules = TypeFilter(cls for cls in tracked.types.values() if issubclass(cls, types.ModuleType))
    return modules.leave_out(tracked.objects)


def _gather(found: dict[int, object], holders: Sequence[object], look: TypeFilter | _LargeBuffers) -> None:
    """Add to ``found`` what the holders refer to, if it is of interest and was not listed."""
    for start in range(0, len(holders), _CHUNK):
        _merge(found, gc.get_referents(*holders[start : start + _CHUNK]), look)


def _merge(found: dict[int, object], referents: Sequence[object], look: TypeFilter | _LargeBuffers) -> None:
    picked = look.pick(referents)
    hidden = [*_TUPLES.pick(picked), *untracked(_TUPLES.leave_out(picked))]
    found.update(zip(map(id, hidden), hidden, strict=True))


def running_locals() -> list[object]:
    """Return the values of local variables of every running function but ours; the caller drops the list.

    On Python 3.11 and later no container that the collector knows refers to them. Values on the evaluation stack
    (the iterable of a running loop) cannot be seen.
    """
    values: list[object] = []
    frames: list[types.FrameType | None] = list(sys._current_frames().values())
    frame: types.FrameType | None = None
    try:
        while frames:
            frame = frames.pop()
            while frame is not None:
                if not is_own_frame(frame):
                    values += [value for _, value in local_values(frame) or ()]
                frame = frame.f_back
        return values
    finally:
        # This function's own frame is among them: a variable that still named it would be a cycle, and keep all locals.
        frames.clear()
        del frame


def dict_keys(dicts: Iterable[object]) -> list[object]:
    """Return the keys of dicts; the collector shows those of a dict whose keys are all strings to nobody.

    No code of a subclass runs, and no key is hashed or compared. The caller drops the list.
    """
    return list(chain.from_iterable(map(dict.__iter__, cast("Iterable[dict[object, object]]", dicts))))


def array_types() -> list[type]:
    """Return ``numpy.ndarray`` and its subclasses; empty where the program has not imported numpy."""
    numpy = loaded_module("numpy", "ndarray")
    return [] if numpy is None else with_subclasses([numpy.ndarray])
