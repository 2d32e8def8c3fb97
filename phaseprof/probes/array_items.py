"""What arrays of Python objects hold, which the collector does not see."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING

from phaseprof.probes.typeinfo import loaded_module

if TYPE_CHECKING:
    import numpy as np


def array_items(arrays: Iterable[object]) -> list[object]:
    """Return the items of those arrays that hold Python objects; the caller drops the list.

    The collector does not see into arrays. No code of an array subclass runs.
    """
    numpy = loaded_module("numpy", "ndarray")
    items: list[object] = []
    if numpy is None:
        return items
    dtype_of = numpy.ndarray.__dict__["dtype"].__get__
    arrays = list(arrays)
    for array in compress(arrays, map(attrgetter("hasobject"), map(dtype_of, arrays))):
        items += _object_items(numpy.ndarray.view(array, numpy.ndarray))
    return items


def _object_items(plain: np.ndarray) -> list[object]:
    fields = plain.dtype.fields
    if fields is None:
        return plain.ravel().tolist() if plain.dtype.hasobject else []
    return [item for name in fields for item in _object_items(plain[name])]
