"""Where numpy keeps what the extension reads of arrays and their item types, tried on some before it is relied on."""

from __future__ import annotations

import sys
from functools import cache

from phaseprof.native.layout import word

__all__ = ["NUMBER_OF_OBJECT", "array_type", "dtype_layout"]

NUMBER_OF_OBJECT = 17  # numpy's number of the type object


def array_type() -> type | None:
    """Return numpy's array type, ``None`` where there is none, or it is laid out otherwise than expected."""
    ndarray = getattr(sys.modules.get("numpy"), "ndarray", None)
    return ndarray if ndarray is not None and _is_laid_out(ndarray) else None


def dtype_layout() -> tuple[int, int] | None:
    """Return where an item type has its size and its flags.

    Returns:
        Zeros where the program has no numpy, ``None`` where it lays out arrays otherwise than expected.
    """
    if "numpy" not in sys.modules:
        return 0, 0
    return _dtype_layout() if array_type() is not None else None


@cache
def _dtype_layout() -> tuple[int, int] | None:
    import ctypes

    import numpy as np

    wide, plain, holding = np.dtype("V70001"), np.dtype([("a", "i8")]), np.dtype([("a", "i8"), ("b", "O")])
    sizes = ((32, ctypes.c_int32), (40, ctypes.c_int64))  # up to numpy 1, from 2 on
    size_at = next((at for at, kind in sizes if kind.from_address(id(wide) + at).value == wide.itemsize), None)
    flags = {at: [ctypes.c_uint8.from_address(id(d) + at).value & 1 for d in (plain, holding)] for at in (27, 32)}
    flags_at = next((at for at, found in flags.items() if found == [0, 1] and at != size_at), None)
    return None if size_at is None or flags_at is None else (size_at, flags_at)


@cache
def _is_laid_out(ndarray: type) -> bool:
    import ctypes

    import numpy as np

    owner = np.zeros((3, 5))
    view = owner[1:]
    objects = np.dtype(object)
    at = id(view)
    shape = word(at + 32)
    return (
        word(at + 16) == view.ctypes.data
        and ctypes.c_int.from_address(at + 24).value == 2
        and (word(shape), word(shape + 8)) == view.shape
        and word(at + 48) == id(owner)
        and word(at + 56) == id(view.dtype)
        and ctypes.c_int.from_address(id(objects) + 28).value == NUMBER_OF_OBJECT
    )
