"""A level that was seen once, beside the growth of a counter that was read all along."""

from __future__ import annotations

# A part of what grew may lie elsewhere, and something may have been there before.
_LOW, _HIGH = 0.4, 2.5


def accounts_for(level: float, grown: float) -> bool:
    """Whether a level may be what a counter grew by: much less cannot be it, and much more was there before.

    Args:
        level: what one look found, in the counter's unit.
        grown: the counter's growth over the run.

    >>> accounts_for(100.0, 90.0), accounts_for(30.0, 90.0), accounts_for(300.0, 90.0)
    (True, False, False)
    """
    return 0 < _LOW * grown <= level <= _HIGH * grown
