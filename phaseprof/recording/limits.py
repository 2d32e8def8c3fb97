"""How much of each memory limit is in use, by the figures of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LIMIT, LEFT = "limit_bytes", "available_bytes"


@dataclass(frozen=True)
class InUse:
    """A memory limit, and how near it is.

    Attributes:
        device: such as ``cuda0``; empty for the limit of the process: its control group's, its address space's or the
            host's.
        limit_bytes: the limit.
        share: of it, what is in use, 0 to 1.
    """

    device: str
    limit_bytes: float
    share: float


def limits_in_use(figures: Mapping[str, float]) -> dict[str, InUse]:
    """Return the limits that figures such as ``limit_bytes`` and ``cuda0/available_bytes`` tell of, by device."""
    found: dict[str, InUse] = {}
    for metric, limit in figures.items():
        prefix, is_limit = metric.removesuffix(LIMIT), metric.endswith(LIMIT)
        left = figures.get(prefix + LEFT)
        if is_limit and limit > 0 and left is not None and prefix[-1:] in ("", "/"):
            found[prefix[:-1]] = InUse(prefix[:-1], limit, min(1.0, max(0.0, 1 - left / limit)))
    return found
