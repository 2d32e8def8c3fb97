"""Families of memory that the collector does not follow: numpy's buffers, and those of Python's own types."""

from __future__ import annotations

from collections.abc import Collection

from phaseprof.live.families import HeapView
from phaseprof.probes import arrays, heap


class ArrayFamily:
    """Numpy buffers, by the id of the object that owns them.  Always a complete look: arrays are not collected."""

    key = "arrays"
    subject = "ndarray"
    has_young = False
    may_grow = False

    def identities(self, view: HeapView) -> dict[int, int]:
        """Return the owner's id and the bytes of each buffer."""
        return arrays.array_buffers()

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return the arrays, or views of them, that own the wanted buffers."""
        return arrays.arrays_on(wanted, most)


class BufferFamily:
    """Buffers of one type, such as ``bytearray``, by their ids: those of some size, since small ones belong to code."""

    has_young = False
    may_grow = True
    LEAST_BYTES = 4096

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.key = f"untracked/{subject}"
        self._before: dict[int, int] | None = None

    def identities(self, view: HeapView) -> dict[int, int]:
        """Return the id and the bytes of each that is new or has grown since the first look, or of all at that.

        Of ``bytes``, which do not grow and of which every program keeps tables, the first look shows none.
        """
        now = heap.buffer_sizes(self.subject, self.LEAST_BYTES)
        if self._before is None:
            self._before = now
            return {} if self.subject == "bytes" else now
        return {key: size for key, size in now.items() if size > self._before.get(key, 0)}

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return buffers with the wanted ids."""
        return heap.buffers_of(self.subject, wanted)[-most:]
