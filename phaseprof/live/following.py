"""Follows what is under suspicion from boundary to boundary: in which generations, and whose the time between is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from phaseprof.live.inspector import Inspector
from phaseprof.live.ledger import UNSEEN
from phaseprof.live.unread import Unread
from phaseprof.live.visits import Pace, Visit, Visited, name_of
from phaseprof.recording import format as fmt

VISITS = ("phase", "block", "checkpoint")
# In a generation that is followed closely so many visits of a label are recorded, if boundaries have not taken far too
# much so far: what a visit changed that is only counted would seem to have happened around it.
FOLLOWED_VISITS = 64


class Following:
    """Reads what is under suspicion at each boundary.

    Args:
        inspector: reads it.
        visited: role to the labels of that role.
        pace: of recorded visits.
        clock: nanoseconds, monotonic.
    """

    def __init__(
        self,
        inspector: Inspector,
        visited: Mapping[str, Mapping[str, Visited]],
        pace: Pace,
        clock: Callable[[], int],
    ) -> None:
        self._inspector = inspector
        self._visited = visited
        self._pace = pace
        self._unread = Unread(clock, visited["phase"], pace)
        self._followed: list[Visited] = []
        self._traced: list[Visited] = []
        self._n_passed = self._generation = self._newest = 0

    def begin(self, generation: int) -> None:
        """A generation begins that is recorded: where something is followed through it, its visits are recorded."""
        is_followed, traced = self._inspector.escalation.looks_at_boundaries, self._inspector.lines.begin()
        if is_followed and self._inspector.lines.is_tracing:
            self._inspector.escalation.leave_out(generation)
            is_followed = False
        self._newest = generation
        self._inspector.looks_at_boundaries = is_followed or traced is not None
        if not self._inspector.looks_at_boundaries:
            return
        labels = [one for role in VISITS for one in list(self._visited[role].values())]
        if is_followed:
            self._follow(labels, generation)
        self._traced = [one for one in labels if one.name == traced and one.role != "checkpoint"]
        for label in self._traced:
            if label not in self._followed:
                self._followed.append(label)
                label.due = -1

    def _follow(self, labels: Collection[Visited], generation: int) -> None:
        """Have the visits of a generation recorded through which something is followed."""
        escalation = self._inspector.escalation
        n_outermost = 2 + 2 * sum(not one.is_inner for one in labels)
        n_boundaries = self._n_boundaries(labels, generation)
        escalation.expect(n_boundaries, n_outermost)
        self.at_boundary(None)
        follows = {is_inner: escalation.follows(generation, is_outermost=not is_inner) for is_inner in (False, True)}
        followed = [one for one in labels if follows[one.is_inner]]
        if self._pace.has_room_for(min(n_boundaries, 2 * FOLLOWED_VISITS * len(followed))):
            self._followed = followed
        for label in self._followed:
            label.due = -FOLLOWED_VISITS

    def _n_boundaries(self, labels: Collection[Visited], generation: int) -> int:
        """How many boundaries a generation has had since this was last asked, those of counted visits included."""
        before, at = self._n_passed, self._generation
        self._n_passed, self._generation = self._pace.n_points + 2 * sum(one.n_counted() for one in labels), generation
        return (self._n_passed - before) // max(1, generation - at)

    def pass_over(self) -> None:
        """A generation begins of which nothing is recorded."""
        self._inspector.looks_at_boundaries = False

    def at_boundary(
        self, phase: str | None, *, is_outermost: bool = True, number: int = -1, edge: int = fmt.POINT
    ) -> None:
        """A boundary is passed.

        Args:
            phase: the innermost that is known to have run since the one before.
            is_outermost: whether the boundary is of a phase that lies in no other.
            number: of the label whose boundary it is, -1 for the generation's.
            edge: whether its visit begins or ends.
        """
        if not self._inspector.looks_at_boundaries:
            return
        is_traced = any(one.number == number for one in self._traced)
        if is_traced and edge == fmt.EXIT:
            self._inspector.lines.leave()
            if self._inspector.lines.is_tracing:
                self._inspector.escalation.leave_out(self._newest)
        self._inspector.at_boundary(self._unread.owner(phase), is_outermost=is_outermost)
        if is_traced and edge == fmt.ENTER:
            self._inspector.lines.enter()

    def end(self, visit: Visit | None) -> None:
        """The generation ends, within ``visit``; visits are gathered again as their pace has it."""
        self._inspector.lines.end()
        self.at_boundary(owner_of(visit))
        for label in self._followed:
            label.due = max(0, label.due)
        self._followed, self._traced = [], []


def owner_of(around: Visit | None) -> str | None:
    """Whose the time before a boundary is: ``None`` outside all visits, ``UNSEEN`` inside one that was only counted."""
    return UNSEEN if around is not None and name_of(around) is None else name_of(around)
