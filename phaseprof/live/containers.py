"""Which builtin containers grow from one walk over the heap to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phaseprof.live import suspicion


@dataclass(frozen=True)
class GrowingContainer:
    """A container that never shrank since its growth began: (generation, length) at each walk that found it longer."""

    kind: str
    history: list[tuple[int, int]]


class ContainerWatch:
    """Compares each walk with the one before.

    What every container measured last time is kept as two arrays, sixteen bytes each: containers are many.
    """

    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)
        self._lengths = np.empty(0, np.int64)
        self.at = -1  # generation of the newest walk
        self.growing: dict[int, GrowingContainer] = {}

    def see(self, now: Mapping[int, tuple[str, int, int]], generation: int) -> None:
        """Take in a walk: id to (type name, length, bytes of the table)."""
        before = dict(zip(self._ids.tolist(), self._lengths.tolist(), strict=True))
        growing: dict[int, GrowingContainer] = {}
        for identity, (kind, length, _) in now.items():
            old = before.get(identity)
            if old is None or length < old:
                continue
            known = self.growing.get(identity)
            if length > old:
                history = known.history if known and known.kind == kind else [(self.at, old)]
                growing[identity] = GrowingContainer(kind, [*history[-suspicion.RECENT :], (generation, length)])
            elif known is not None and known.kind == kind:
                growing[identity] = known
        self.growing = growing
        self.at = generation
        self._ids = np.fromiter(now, np.int64, len(now))
        self._lengths = np.fromiter((length for _, length, _ in now.values()), np.int64, len(now))

    def length_of(self, identity: int) -> int:
        """Return how long a container was at the newest walk; 0 if it was shorter than those listed, or gone."""
        found = self._lengths[self._ids == identity]
        return int(found[0]) if found.size else 0

    def steadiest(
        self, most: int, *, least_walks: int = suspicion.LEAST_READINGS
    ) -> list[tuple[int, GrowingContainer]]:
        """Return the containers found longer at ``least_walks`` walks or more, those that gained most first."""
        steady = [(identity, grown) for identity, grown in self.growing.items() if len(grown.history) > least_walks]
        steady.sort(key=lambda item: item[1].history[0][1] - item[1].history[-1][1])
        return steady[:most]
