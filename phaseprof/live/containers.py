"""Which builtin containers grow from one walk over the heap to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phaseprof.live import suspicion
from phaseprof.probes.typeids import is_among


@dataclass(frozen=True)
class GrowingContainer:
    """A container that never shrank since its growth began: (generation, length) at each walk that found it longer."""

    kind: str
    history: list[tuple[int, int]]

    @property
    def may_hide(self) -> bool:
        """Whether the collector may have stopped tracking it."""
        return self.kind.rpartition(".")[2] == "dict"


class ContainerWatch:
    """Compares each walk with the one before.

    What every container measured last time is kept as two arrays, sixteen bytes each: containers are many.
    """

    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)
        self._lengths = np.empty(0, np.int64)
        self._n_fresh, self._is_whole = 0, True
        self.at = -1  # generation of the newest look
        self.growing: dict[int, GrowingContainer] = {}

    def see(self, now: Mapping[int, tuple[str, int, int]], generation: int, *, whole: bool = True) -> None:
        """Take in a look at the heap.

        Args:
            now: id to (type name, length, bytes of the table).
            generation: ordinal of the current one.
            whole: whether every container is in it; otherwise those that the collector tracks, which leaves out dicts
                of plain data: of those nothing new is known.
        """
        before = dict(zip(self._ids.tolist(), self._lengths.tolist(), strict=True))
        growing: dict[int, GrowingContainer] = {}
        if not whole:
            growing.update((i, known) for i, known in self.growing.items() if i not in now and known.may_hide)
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
        self._keep(now, whole=whole)

    def _keep(self, now: Mapping[int, tuple[str, int, int]], *, whole: bool) -> None:
        ids = np.fromiter(now, np.int64, len(now))
        lengths = np.fromiter((length for _, length, _ in now.values()), np.int64, len(now))
        self._n_fresh = len(now)
        if not whole:
            unseen = ~is_among(self._ids, np.sort(ids))
            ids, lengths = np.append(ids, self._ids[unseen]), np.append(lengths, self._lengths[unseen])
        self._ids, self._lengths, self._is_whole = ids, lengths, whole

    def length_of(self, identity: int, *, may_hide: bool) -> int | None:
        """Return how long a container was at the newest look.

        Args:
            identity: its id.
            may_hide: whether the collector may have stopped tracking it.

        Returns:
            0 if it was shorter than those listed, or gone; ``None`` if that look could not see it.
        """
        (at,) = np.nonzero(self._ids == identity)
        if at.size and at[0] < self._n_fresh:
            return int(self._lengths[at[0]])
        return None if may_hide and not self._is_whole else 0

    def steadiest(
        self, most: int, *, least_walks: int = suspicion.LEAST_READINGS
    ) -> list[tuple[int, GrowingContainer]]:
        """Return the containers found longer at ``least_walks`` walks or more, those that gained most first."""
        steady = [(identity, grown) for identity, grown in self.growing.items() if len(grown.history) > least_walks]
        steady.sort(key=lambda item: item[1].history[0][1] - item[1].history[-1][1])
        return steady[:most]
