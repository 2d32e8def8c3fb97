"""Passes over the types of many objects by address: a class is its ``id``.

No class is hashed or compared unless that runs no code, and no pass lets another thread run (numpy's would).
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import compress
from operator import not_

from phaseprof.probes.typeinfo import types_hash_plainly
from phaseprof.probes.uninterrupted import Source, made_by_a_look, sorted_out, uninterrupted


def tally(classes: Sequence[type]) -> list[tuple[type, int]]:
    """Count how often each class is there.

    Cost: 25 ns a class, twice that where a metaclass of the program's defines a hash.
    """
    if types_hash_plainly():
        return list(Counter(classes).items())
    counts = Counter(map(id, classes))
    by_id = dict(zip(map(id, classes), classes, strict=True))
    return [(by_id[key], n) for key, n in counts.items()]


def without(counts: Iterable[tuple[type, int]], made: Mapping[int, int]) -> list[tuple[type, int]]:
    """Return counts by type without the objects that counting itself made.

    Args:
        counts: types and numbers.
        made: id of the type -> number.
    """
    return [(cls, n - made.get(id(cls), 0)) for cls, n in counts if n > made.get(id(cls), 0)]


def made_by_looks_in_c() -> Mapping[int, int]:
    """Return how many objects of each type, by its id, are made by the look that one in C is part of."""
    return {id(cls): n for cls, n in made_by_a_look().items()}


class TypeFilter:
    """Pick the objects whose exact type is wanted.

    Args:
        wanted: the types.
        plain: classes may be hashed, as ``types_hash_plainly`` said just now; no filter that is kept may rely on it.
    """

    def __init__(self, wanted: Iterable[type], *, plain: bool = False) -> None:
        self._classes = list(wanted)  # held, so that no other class comes to have one of the ids
        self._plain = plain
        self._wanted: frozenset[object] = frozenset(self._classes if plain else map(id, self._classes))

    def pick(self, objects: Sequence[object], classes: Iterable[type] | None = None) -> list[object]:
        """Return the objects of the wanted types, in order.

        Args:
            objects: to choose from.
            classes: their types, where the caller has them.

        Cost: 55 ns an object, 40 where classes may be hashed, 15 less where the types are given.
        """
        if not self._wanted:
            return []
        return list(compress(objects, self._among(map(type, objects) if classes is None else classes)))

    def leave_out(self, objects: Sequence[object]) -> list[object]:
        """Return the objects of all other types, in order.  Cost: 15 ns an object more than ``pick``."""
        return list(compress(objects, map(not_, self._among(map(type, objects)))))

    def _among(self, classes: Iterable[type]) -> Iterable[bool]:
        return map(self._wanted.__contains__, classes if self._plain else map(id, classes))


def sift(source: Source, *wanted: Iterable[type]) -> tuple[list[tuple[type, int]], list[list[object]]]:
    """Count the objects that a C function lists by exact type, and keep those of some types.

    Nothing of the rest is referred to when this returns or another thread runs.

    Args:
        source: such as ``gc.get_objects``.
        wanted: groups of exact types.

    Returns:
        Counts by type, and for each group its objects in order; the caller drops them.

    Cost: 65 ns an object, and 40 for each group; 16 bytes an object while it runs.
    """
    classes, kept = sorted_out(source, *wanted)
    return without(tally(classes), _made_by_sorting_out(len(wanted)) + Counter(made_by_looks_in_c())), kept


@cache
@uninterrupted
def _made_by_sorting_out(n_groups: int) -> Counter[int]:
    """Return how many objects of each type, by its id, a call of ``sorted_out`` adds to the list itself.

    It is tried on the young objects: what it makes is among them, and they are few.
    """
    young: Source = partial(gc.get_objects, 0)
    groups: list[tuple[type, ...]] = [()] * n_groups
    Counter(map(id, sorted_out(young, *groups)[0]))  # what is made once, by whom it may be called, is there from now on
    during = Counter(map(id, sorted_out(young, *groups)[0]))
    return during - Counter(map(id, map(type, young())))
