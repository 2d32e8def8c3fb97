"""Holders that the collector does not walk: tuples and dicts of plain data, numpy views and object arrays.

A forward pass over the whole heap finds them, at several times the price of a backward one; a search makes it only
for references that nothing else explains.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Iterator
from itertools import compress, filterfalse
from operator import attrgetter

from phaseprof.native.looking import hidden_parents
from phaseprof.probes.holding.reading import is_unsafe
from phaseprof.probes.uninterrupted import finished

_CHUNK = 20_000
_MAX_HOPS = 8
_MAX_OBJECT_ARRAY = 1_000_000


def parents_not_tracked(targets: Collection[int]) -> list[tuple[object, object]]:
    """Return ``(parent, child)`` for every untracked parent that leads to an object whose id is in ``targets``.

    Chains of untracked parents come as several pairs. Nothing but what is returned is held afterwards.
    Cost: 50 ns for each object of the heap in C, 0.2 to 0.5 us in Python.
    """
    pairs = hidden_parents(targets)
    if pairs is not None:
        return pairs
    numpy = sys.modules.get("numpy")
    array = numpy.ndarray if numpy is not None else None
    # By id: to look a stranger's type up in a set would ask its metaclass for a hash.
    kinds = frozenset({id(tuple), id(dict), id(array)})
    pairs = []
    everything = finished(gc.get_objects)
    try:
        for start in range(0, len(everything), _CHUNK):
            safe = filterfalse(is_unsafe, everything[start : start + _CHUNK])
            layer = _select(gc.get_referents(*safe), kinds)
            pairs += _descend(layer, set(targets), kinds, array)
    finally:
        everything.clear()
    unique = {(id(parent), id(child)): (parent, child) for parent, child in pairs}
    return list(unique.values())


def _select(objects: list[object], kinds: frozenset[int]) -> list[object]:
    chosen = compress(objects, map(kinds.__contains__, map(id, map(type, objects))))
    return list({id(obj): obj for obj in filterfalse(gc.is_tracked, chosen)}.values())


def _descend(
    layer: list[object], targets: set[int], kinds: frozenset[int], array: type | None
) -> list[tuple[object, object]]:
    """Follow untracked objects downwards, and return the links of every chain that ends in a target."""
    layers = []
    for _ in range(_MAX_HOPS):
        if not layer:
            break
        layers.append(layer)
        layer = _select(_referents(layer, array), kinds)
    pairs: list[tuple[object, object]] = []
    wanted = targets
    for held in reversed(layers):
        if wanted.isdisjoint(map(id, _referents(held, array))):
            continue
        for parent in held:
            hits = [child for child in _referents([parent], array) if id(child) in wanted]
            pairs += [(parent, child) for child in hits]
            if hits:
                wanted.add(id(parent))
    return pairs


def _referents(objects: list[object], array: type | None) -> list[object]:
    found = gc.get_referents(*objects)
    arrays = [obj for obj in objects if type(obj) is array]
    found += [base for base in map(attrgetter("base"), arrays) if base is not None]
    for obj in arrays:
        found += _object_items(obj)
    return found


def _object_items(obj: object) -> Iterator[object]:
    dtype, size = attrgetter("dtype", "size")(obj)
    if dtype.hasobject and dtype.fields is None and size <= _MAX_OBJECT_ARRAY:
        yield from attrgetter("flat")(obj)
