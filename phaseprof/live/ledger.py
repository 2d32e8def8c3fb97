"""Who was born where, and who is still there: bookkeeping on numbers alone.

Identities are numbers (ids, storage addresses).  An address is used again after its object died, so an identity counts
as the same thing only while it is seen at every reading; the ledger forgets what is missing from a complete reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from phaseprof.recording.model import OUTSIDE

# The owner of what was born while boundaries went unread for lack of budget.
UNSEEN = ""


class Birth(NamedTuple):
    """Where and when an identity was first seen."""

    phase: str | None
    generation: int


class BirthLedger:
    """Follows the identities of one family through readings at phase boundaries."""

    def __init__(self) -> None:
        self._born: dict[int, Birth] = {}
        self._old: set[int] | None = None
        # Born here and since moved to the old generation: missing from a look at the young, and not dead for that.
        self._grown_old: set[int] = set()
        # Last seen by a complete look, which does not tell the young from the old.
        self._either: set[int] = set()

    @property
    def has_baseline(self) -> bool:
        """Whether a first reading was taken, before which nothing can be said."""
        return self._old is not None

    def see(
        self, now: Collection[int], owner: str | None, generation: int, *, complete: bool = True, moved: bool = False
    ) -> None:
        """Take in a reading at a boundary.

        Args:
            now: what is there; to ask for one takes no time.
            owner: the phase that was innermost since the reading before.
            generation: ordinal of the current generation.
            complete: whether every living identity is in ``now``; otherwise it holds the young ones only.
            moved: for an incomplete reading, whether young ones may have grown old since the reading before, so that
                one that is missing need not be dead.
        """
        if self._old is None:
            self._old = set(now)
            return
        born = self._born
        if complete:
            self._old.intersection_update(now)
        self._miss([identity for identity in born if identity not in now], generation, complete=complete, moved=moved)
        for identity in now:
            if identity in self._old:
                continue
            # What grew old and is young again is another thing at the same address.
            if identity not in born or (not complete and identity in self._grown_old):
                born[identity] = Birth(owner, generation)
        self._grown_old.difference_update(now)
        self._grown_old.intersection_update(born)
        self._either = born.keys() & now if complete else self._either.difference(now)

    def _miss(self, missing: Collection[int], generation: int, *, complete: bool, moved: bool) -> None:
        """Forget what died; what a look at the young does not show may have grown old instead."""
        if not complete and moved:
            self._grown_old.update(missing)
            return
        for identity in missing:
            if complete:
                del self._born[identity]
            elif identity in self._either:
                self._grown_old.add(identity)
            elif identity not in self._grown_old and self._born[identity].generation == generation:
                del self._born[identity]

    def survivors(self, generation: int, age: int) -> dict[int, Birth]:
        """Return those born at least ``age`` generations before ``generation`` that are still there."""
        return {i: birth for i, birth in self._born.items() if birth.generation <= generation - age}

    def by_phase(self, generation: int, age: int) -> Counter[str]:
        """Count the survivors by the phase they were born in, those whose birth was seen."""
        born = self.survivors(generation, age).values()
        return Counter(birth.phase or OUTSIDE for birth in born if birth.phase != UNSEEN)


class DeltaLedger:
    """Charges the changes of one counter to the phases in which they happened, by whole generations.

    Attributes:
        n_turns: generations that count.
    """

    def __init__(self) -> None:
        self.n_turns = 0
        self._last: float | None = None
        self._sums: dict[str, float] = {}
        self._open: dict[str, float] = {}

    def see(self, value: float, owner: str | None) -> None:
        """Take in a reading; the change since the one before belongs to ``owner``."""
        if self._last is not None:
            phase = OUTSIDE if owner is None else owner
            self._open[phase] = self._open.get(phase, 0.0) + value - self._last
        self._last = value

    def end_turn(self, *, whole: bool, turns: int = 1) -> None:
        """A generation ends; of one whose boundaries were not all read nothing counts.

        Args:
            whole: whether they were.
            turns: generations since the last end that was measured: on a busy machine not each of them is.
        """
        if whole and self._last is not None:
            self.n_turns += turns
            for phase, change in self._open.items():
                self._sums[phase] = self._sums.get(phase, 0.0) + change
        self._open.clear()

    def by_phase(self) -> dict[str, float]:
        """Return the change of the counter in each phase whose boundaries were read."""
        return {phase: change for phase, change in self._sums.items() if phase != UNSEEN}
