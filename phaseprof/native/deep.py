"""Deep sizes in C: what objects reach, in one call."""

from __future__ import annotations

from array import array
from typing import NamedTuple, cast

from phaseprof.native.array_layout import array_type
from phaseprof.native.extension import CONTAINERS, extension, limit_or_none
from phaseprof.native.kinds import TRUSTED
from phaseprof.probes import tensors

__all__ = ["KnownInC", "Reached", "measure"]


class Reached(NamedTuple):
    """What objects reach.

    Attributes:
        n_bytes: all of it but for tensors' memory.
        tensors: torch tensors and storages among it, whose memory is not counted yet; the caller drops them at once.
        ids, sizes: id and bytes of each object, where they are kept.
        met: ids of the objects that may be met again, as ``KnownInC`` takes them.
        is_partial: a limit was met.
    """

    n_bytes: int
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
    limit_s: float | None,
    keeps_sizes: bool,
    widest_bytes: int | None,
    known: KnownInC | None,
    is_cpu_time: bool,
) -> Reached | None:
    """Add up what objects reach.

    Args:
        objects: where to start.
        left_out: types of what belongs to nobody in particular; it is neither counted nor followed.
        limit_s: end after this many seconds.
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
    widest = -1 if widest_bytes is None else widest_bytes
    handle = None if known is None else known.handle
    limits = (limit_or_none(limit_s), keeps_sizes, widest, handle, is_cpu_time)
    n_bytes, measured, foreign, kept, met, is_partial = module.deep_size(
        objects, CONTAINERS, array_type(), tensors.measured_bases(), left_out, TRUSTED, *limits
    )
    found = cast("list[object]", measured)
    if foreign:
        found.clear()
        return None
    pairs = array("q", cast("bytes", kept))
    return Reached(cast("int", n_bytes), found, pairs[::2], pairs[1::2], cast("bytes", met), bool(is_partial))
