"""Deep sizes in C: what objects reach, by type, in one call."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple, cast

from phaseprof.native.array_layout import array_type
from phaseprof.native.extension import CONTAINERS, addresses, extension, limit_or_none
from phaseprof.native.kinds import TRUSTED
from phaseprof.probes import tensors

__all__ = ["KnownInC", "Reached", "measure"]


class Reached(NamedTuple):
    """What objects reach.

    Attributes:
        by_type: (type name, number, bytes); a name may be there twice.
        tensors: torch tensors and storages among it, whose memory is not counted yet; the caller drops them at once.
        ids, sizes: id and bytes of each object, where they are kept.
        met: ids of the objects that may be met again, as ``KnownInC`` takes them.
        is_partial: a limit was met.
    """

    by_type: list[tuple[str, int, int]]
    tensors: list[object]
    ids: array[int]
    sizes: array[int]
    met: bytes
    is_partial: bool


class KnownInC:
    """Ids of what earlier parts of a sizing have measured; nothing is held."""

    def __init__(self) -> None:
        module = extension()
        self.handle = None if module is None else module.known()

    def learn(self, met: bytes) -> None:
        """Add the ids that one part has met."""
        module = extension()
        if module is not None:
            module.learn(self.handle, met)


def measure(
    objects: list[object],
    *,
    left_out: tuple[type, ...],
    exclude: Iterable[object] = (),
    limit_s: float | None = None,
    max_objects: int | None = None,
    keeps_sizes: bool = False,
    widest_bytes: int | None = None,
    known: KnownInC | None = None,
    is_cpu_time: bool = False,
) -> Reached | None:
    """Add up what objects reach, by type.

    Args:
        objects: where to start.
        left_out: types of what belongs to nobody in particular; it is neither counted nor followed.
        exclude: objects to leave out with what only they reach.
        limit_s: end after this many seconds.
        max_objects: end after this many objects.
        keeps_sizes: return the id and size of each object.
        widest_bytes: a container whose own table takes more ends the walk, before it is looked into.
        known: leave out what earlier parts have met.
        is_cpu_time: the limit is in seconds of this thread's processor time.

    Returns:
        ``None`` where there is no extension, or an array among it needs a look that only Python can take.

    Cost: 30 ns an object.
    """
    module = extension()
    if module is None or (known is not None and known.handle is None):
        return None
    skip, most = addresses(map(id, exclude)), max_objects or 0
    bases, limit = tensors.measured_bases(), limit_or_none(limit_s)
    widest, handle = -1 if widest_bytes is None else widest_bytes, None if known is None else known.handle
    limits = (limit, most, keeps_sizes, widest, handle, is_cpu_time)
    by_type, measured, foreign, kept, met, is_partial = module.deep_size(
        objects, skip, CONTAINERS, array_type(), bases, left_out, TRUSTED, *limits
    )
    found = cast("list[object]", measured)
    if foreign:
        found.clear()
        return None
    pairs = array("q", cast("bytes", kept))
    rows = cast("list[tuple[str, int, int]]", by_type)
    return Reached(rows, found, pairs[::2], pairs[1::2], cast("bytes", met), bool(is_partial))
