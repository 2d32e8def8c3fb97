"""Deep sizes in C: what objects reach, by type, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from phaseprof.native.extension import CONTAINERS, addresses, extension
from phaseprof.native.in_c import array_type, limit_or_none
from phaseprof.native.kinds import TRUSTED
from phaseprof.probes import tensors

__all__ = ["Reached", "measure"]


class Reached(NamedTuple):
    """What an object reaches.

    Attributes:
        by_type: (type name, number, bytes); a name may be there twice.
        tensors: torch tensors and storages among it, whose memory is not counted yet; the caller drops them at once.
        is_partial: a limit was met.
    """

    by_type: list[tuple[str, int, int]]
    tensors: list[object]
    is_partial: bool


def measure(
    obj: object,
    *,
    exclude: Iterable[object],
    left_out: tuple[type, ...],
    limit_s: float | None,
    max_objects: int | None,
) -> Reached | None:
    """Add up what an object reaches, by type.

    Args:
        obj: where to start.
        exclude: objects to leave out with what only they reach.
        left_out: types of what belongs to nobody in particular; it is neither counted nor followed.
        limit_s: end after this many seconds.
        max_objects: end after this many objects.

    Returns:
        ``None`` where there is no extension, or an array among it needs a look that only Python can take.

    Cost: 30 ns an object.
    """
    module = extension()
    if module is None:
        return None
    skip, most = addresses(map(id, exclude)), max_objects or 0
    bases, limit = tensors.measured_bases(), limit_or_none(limit_s)
    by_type, measured, foreign, _, is_partial = module.deep_size(
        [obj], skip, CONTAINERS, array_type(), bases, left_out, TRUSTED, limit, most, False
    )
    if foreign:
        return None
    return Reached(cast("list[tuple[str, int, int]]", by_type), cast("list[object]", measured), bool(is_partial))
