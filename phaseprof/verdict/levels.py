"""A level that was seen once, beside the growth of a counter that was read all along."""

from __future__ import annotations

# A part of what grew may lie elsewhere, and something may have been there before.
_LOW, _HIGH = 0.4, 2.5
# What a counter counts for each object that comes with it: a child has up to eight descriptors or threads.
_LEAST_EACH, _MOST_EACH = 0.5, 8.0


def accounts_for(level: float, grown: float) -> bool:
    """Whether a level may be what a counter grew by: much less cannot be it, and much more was there before.

    Args:
        level: what one look found, in the counter's unit.
        grown: the counter's growth over the run.

    >>> accounts_for(100.0, 90.0), accounts_for(30.0, 90.0), accounts_for(300.0, 90.0)
    (True, False, False)
    """
    return 0 < _LOW * grown <= level <= _HIGH * grown


def comes_with(counted: float, objects: float) -> bool:
    """Whether a counter's growth fits that of objects, one or a few for each.

    >>> comes_with(6.0, 3.0), comes_with(6.0, 20.0), comes_with(6.0, 0.0)
    (True, False, False)
    """
    return objects > 0 and _LEAST_EACH <= counted / objects <= _MOST_EACH
