"""A closer look at what grows: in which phases a counter rises, where watched instances are born and who holds them.

Each suspect is one :class:`Investigation` that goes through stages, generation by generation, as the budget allows:
readings at phase boundaries, then, for a watched class, one search for holders.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from phaseprof.live.budget import Budget, WholeTurns
from phaseprof.live.families import HeapView, read_together
from phaseprof.live.investigation import Investigation, holder_record
from phaseprof.live.ledger import UNSEEN
from phaseprof.live.survivors import Held, search_holders
from phaseprof.probes.holders import common_path
from phaseprof.probes.uninterrupted import uninterrupted
from phaseprof.recording import format as fmt
from phaseprof.records import STOPPED

MAX_AT_ONCE = 12
ASKED = 6  # survivors whose holders are searched, for each suspect
SAMPLED = 24  # the same, where it is not known which of them survived
TOGETHER = 48  # samples of several suspects in one search: more would not fit into its width
OLD_ENOUGH = 2  # generations a survivor must have outlived
PATIENCE = 12  # generations to wait for survivors before the suspicion is laid aside
# What was followed while something filled up is followed again soon: what a counter takes at boundaries has a bound.
AGAIN_AFTER, AGAIN_NS = 10, 1_000_000_000
# Under a budget, a generation's end is read every 50 ms at most: twelve generations of a millisecond are one look.  So
# patience is as long as twelve generations of half a second at least.
PATIENCE_NS = 6_000_000_000
# Counters at boundaries, beside what the rest may take: something for the first ones, and a part of the whole share.
COUNTERS_CREDIT_NS, COUNTERS_SHARE = 4_000_000, 0.2
SHOWN = 0.25  # of the rise of a counter, what it must have changed by while it was followed
FOLLOWED = OLD_ENOUGH + 1  # generations through which a counter is followed before its changes speak
BIRTHS_DEBT_NS = 20_000_000  # a few generations are followed without a gap; what is overdrawn is saved later
SEARCH_S = 0.25  # the least that a search for holders may take; under a budget it ends with the room there is
# What a search for holders is expected to take for each block of Python's allocator, before the first was made.
SEARCHED_NS = 150


class Escalation:
    """Runs the investigations.

    Args:
        budget: what may be spent.
        add: takes each record of evidence.
        clock: nanoseconds.
    """

    def __init__(self, budget: Budget, add: Callable[[fmt.Record], None], clock: Callable[[], int]) -> None:
        self._budget = budget
        self._add = add
        self._clock = clock
        self.open: dict[str, Investigation] = {}
        self.done: dict[str, int] = {}
        self._done_ns: dict[str, int] = {}
        self._unanswered: set[str] = set()  # suspects whose search for holders met its limit, or never came
        self._generation = self._ended = -1
        self._collections = 0
        self.gap = False
        self._counters = WholeTurns(budget, "births: counters", part=COUNTERS_SHARE, credit_ns=COUNTERS_CREDIT_NS)
        self.has_looked = False  # whether looks were made since the last boundary, which keep some memory

    @property
    def looks_at_boundaries(self) -> bool:
        """Whether phase boundaries are being read."""
        return bool(self.open)

    def _under_way(self) -> list[Investigation]:
        """What is looked at now; another thread may begin or end some meanwhile."""
        return list(self.open.values())

    def wants(self, key: str, generation: int) -> bool:
        """Tell whether a suspect should be looked at now: not under way, and not looked at lately."""
        last = self.done.get(key)
        if key in self.open or last is None:
            return key not in self.open
        return generation - last >= AGAIN_AFTER and self._has_passed(AGAIN_NS, self._done_ns.get(key, 0))

    def _has_passed(self, time_ns: int, since_ns: int) -> bool:
        """Whether so much time has passed since a moment; where each generation is looked at, their number says enough.

        The clock may begin at any number, so that no moment is later than one that was not noted.
        """
        return self._budget.share is None or not since_ns or self._clock() - since_ns >= time_ns

    def start(self, suspect: Investigation) -> None:
        """Begin to look at a suspect, if there is room beside the others."""
        if len(self.open) < MAX_AT_ONCE:
            suspect.began_ns = self._clock()
            self.open[suspect.key] = suspect

    def phase_of(self, subject: str) -> str | None:
        """The phase found guilty for a subject so far."""
        return next((i.phase for i in self._under_way() if i.subject == subject and i.phase), None)

    # --- births -----------------------------------------------------------------------------------------------------

    def expect(self, n: int, n_outermost: int) -> None:
        """Take in how many boundaries the next generation may have, in all and of the outermost phases."""
        self._counters.expect(n, n_outermost)

    def leave_out(self, generation: int) -> None:
        """Follow no counter through a generation that is traced: what the tracer keeps would count."""
        self._counters.leave_out(generation)

    def follows(self, generation: int, *, is_outermost: bool) -> bool:
        """Tell whether a phase is followed through a generation, one of the outermost or one in another."""
        followed = [one for one in self._under_way() if one.stage == "births"]
        is_whole = self._counters.was_whole(generation) and (is_outermost or not self._counters.is_outermost)
        return any(one.counter is None or is_whole for one in followed)

    def at_boundary(self, owner: str | None, generation: int, *, is_outermost: bool = True) -> None:
        """Read what lives now for every open investigation; charge the news to ``owner``.

        Args:
            owner: the innermost phase since the boundary before, ``None`` outside phases, ``UNSEEN`` if not known.
            generation: ordinal of the current generation; the news of one that was passed over are nobody's.
            is_outermost: whether the boundary is of a phase that lies in no other.
        """
        if generation > self._generation + 1 or self.has_looked:
            owner, self.has_looked = UNSEEN, False
        self._generation = generation
        self._read_counters(owner, is_outermost=is_outermost)
        if not any(one.stage == "births" and one.counter is None for one in self._under_way()):
            return
        if not self._budget.admits("births", 300_000, debt_ns=BIRTHS_DEBT_NS):
            self.gap = True
            return
        if self.gap:
            owner, self.gap = UNSEEN, False
        with self._budget.spending("births"):
            self._read(owner)

    def _read_counters(self, owner: str | None, *, is_outermost: bool = True) -> None:
        """Read the counters that are followed; in a run that has spent its budget they alone tell the phase."""
        counted = {
            one.key: one.counter for one in self._under_way() if one.stage == "births" and one.counter is not None
        }
        if not counted or not self._counters.admits(self._generation, is_outermost=is_outermost):
            return
        if self._counters.take_gap():
            owner = UNSEEN
        with self._budget.spending(self._counters.job):
            self._see(dict(zip(counted, read_together(list(counted.values())), strict=True)), owner)

    def _see(self, values: Mapping[str, float | None], owner: str | None) -> None:
        for key, value in values.items():
            one = self.open.get(key)  # another thread's generation may have ended what was being read
            if value is not None and one is not None:
                one.deltas.see(value, owner)

    @uninterrupted
    def _read(self, owner: str | None, *, complete: bool = False) -> None:
        """Read every class whose births are followed.

        What was born since the last boundary is still in the collector's young generations, unless a collection moved
        it: so the young ones are enough where none did, at a hundredth of the price of the whole heap.
        """
        followed = [(one, one.family) for one in self._under_way() if one.family is not None and one.stage == "births"]
        if not followed:
            return
        moved = self._has_moved()
        # Under a budget only the young are looked at: what a collection moved in between is lost, and later generations
        # make up for it.  Old objects never look young, so no complete look is needed to begin with.
        begins = any(not one.births.has_baseline for one, _ in followed)
        young = not complete and (self._budget.share is not None or not (begins or moved))
        with HeapView([family for _, family in followed], young=young) as view:
            for one, family in followed:
                now = family.identities(view)
                if begins and not young:
                    self._count(one, now)
                one.births.see(now, owner, self._generation, complete=not young, moved=moved)

    def _count(self, one: Investigation, now: Collection[int]) -> None:
        """A complete look counts the class too: one more reading of its series, for nothing."""
        self._add(fmt.Metrics(self._clock(), self._generation, {one.key: float(len(now))}))

    def _has_moved(self) -> bool:
        """Whether a collection since the last look may have moved young objects to the old generation."""
        now = sum(int(stats["collections"]) for stats in gc.get_stats()[1:])
        before, self._collections = self._collections, now
        return now != before

    # --- the end of a generation ------------------------------------------------------------------------------------

    def at_generation_end(self, generation: int) -> None:
        """Advance every investigation by what the budget has room for."""
        self._generation = generation
        if not self.open:
            self._ended = generation
            return
        if self._budget.share is None:
            self._read_counters(UNSEEN)  # what looks have kept since the last boundary
            # Under a budget the survivors are checked once, when their holders are searched.
            with self._budget.spending("births: check"):
                self._read(None, complete=True)
        self._end_turns(generation)
        for one in self._under_way():
            if one.stage == "births":
                self._tell_births(one)
        ready = [one for one in self._under_way() if one.stage == "holders"]
        if ready and self._budget.admits("holders", heap_ns(SEARCHED_NS)):
            with self._budget.spending("holders"):
                room_s = max(SEARCH_S, self._budget.room_ns() / 1e9)
                self._find_holders(ready[:4], deadline_s=min(room_s, self._budget.max_pause_ns / 1e9))

    def pass_over(self, generation: int) -> None:
        """A generation ends at whose end nothing else is done: what counters changed by in it counts."""
        self._end_turns(generation)

    def _end_turns(self, generation: int) -> None:
        """Charge what counters changed by since the last end to the generations that were followed since."""
        is_whole, n_whole = self._counters.was_whole(generation), self._counters.take_whole()
        before, self._ended = self._ended, generation
        for one in self._under_way():
            if one.counter is not None and one.stage == "births":
                one.deltas.end_turn(whole=is_whole, turns=max(1, min(n_whole, generation - max(before, one.began))))

    def allow_retries(self) -> None:
        """Let suspects whose search met its limit, or never came, be asked about at once: there is time now."""
        for key in self._unanswered:
            self.done.pop(key, None)

    def hurry(self) -> None:
        """Go on to the holders of every suspect, whether births were followed or not."""
        for one in self._under_way():
            if one.stage == "births" and one.family is not None:
                one.stage = "holders"

    def finish(self, *, limit_s: float = float("inf")) -> None:
        """Do now, within ``limit_s``, what only waits for the budget: findings are asked for, and no phase is running.

        Births that were followed too short are left alone: findings may be asked for at every generation.
        """
        for one in self._under_way():
            if one.stage == "births" and self._generation - one.began >= OLD_ENOUGH:
                self._tell_births(one, at_last=True)
        ready = [i for i in self._under_way() if i.stage == "holders"]
        if ready:
            with self._budget.spending("holders"):
                self._find_holders(ready, deadline_s=limit_s)

    def record_counters(self) -> None:
        """Record by phase what the counters that are still followed changed by so far."""
        for one in self._under_way():
            if one.stage == "births" and one.counter is not None and one.deltas.n_turns:
                self._record_births(one, one.deltas.by_phase(), one.deltas.n_turns)

    def _tell_births(self, one: Investigation, *, at_last: bool = False) -> None:
        waited = self._generation - one.began
        is_late = waited > PATIENCE and self._has_passed(PATIENCE_NS, one.began_ns)
        if one.family is None:
            deltas, n_followed = one.deltas.by_phase(), min(waited, one.deltas.n_turns)
            # What comes in every fourth generation may have come in none of the three.
            shows_rise = sum(deltas.values()) >= SHOWN * n_followed * one.rate
            if (n_followed >= FOLLOWED and shows_rise) or is_late or (at_last and deltas):
                self._record_births(one, deltas, n_followed)
                one.phase = max(deltas, key=lambda phase: deltas[phase], default=None)
                self._close(one)
            return
        shares = one.births.by_phase(self._generation, OLD_ENOUGH)
        if not shares and at_last:
            shares = one.births.by_phase(self._generation, 1)
        if shares:
            self._record_shares(one, shares)
            one.stage = "holders"
        elif waited > OLD_ENOUGH and not one.births.has_baseline:
            one.stage = "holders"
        elif is_late:
            self._unanswered.add(one.key)
            self._close(one)

    def _record_shares(self, one: Investigation, shares: Mapping[str, int]) -> None:
        self._record_births(one, shares, OLD_ENOUGH)
        one.phase = max(shares, key=shares.__getitem__)

    def _record_births(self, one: Investigation, phases: Mapping[str, float], after: int) -> None:
        told = {phase: [float(number), 0.0] for phase, number in phases.items() if number}
        if told:
            self._add(fmt.Births(self._clock(), self._generation, one.key, told, after))

    def _close(self, one: Investigation) -> None:
        self.open.pop(one.key, None)
        self.done[one.key], self._done_ns[one.key] = self._generation, self._clock()

    # --- holders ----------------------------------------------------------------------------------------------------

    def _find_holders(self, ready: Sequence[Investigation], *, deadline_s: float) -> None:
        # What is recorded may be written at once, and while it is, other threads run: not while survivors are held.
        add, held_back = self._add, list[fmt.Record]()
        self._add = held_back.append
        try:
            most = max(ASKED, min(SAMPLED, TOGETHER // len(ready)))
            found = search_holders(ready, partial(self._survivors_of, most=most), deadline_s)
        finally:
            self._add = add
            for record in held_back:
                add(record)
        for each in found:
            self._tell_holder(each)

    def _survivors_of(self, one: Investigation, view: HeapView, *, most: int) -> list[object]:
        if one.family is None:
            return []
        living = one.family.identities(view)
        self._count(one, living)
        if self._budget.share is not None and one.births.has_baseline:
            self._tell_apart(one, living)
        born = one.births.survivors(self._generation, OLD_ENOUGH) or one.births.survivors(self._generation, 1)
        guilty = {i for i, birth in born.items() if birth.phase == one.phase} or set(born)
        if guilty:
            return one.family.pick(view, guilty, ASKED)
        # Nobody was followed from birth: a sample across all that live, in which what leaks is the larger part.
        everyone = list(living)
        return one.family.pick(view, set(everyone[:: max(1, len(everyone) // most)]), most)

    def _tell_apart(self, one: Investigation, living: Collection[int]) -> None:
        """Tell survivors from those that died unseen: under a budget only the young were looked at until now."""
        one.births.see(living, UNSEEN, self._generation)
        shares = one.births.by_phase(self._generation, OLD_ENOUGH)
        if shares:
            self._record_shares(one, shares)

    def _tell_holder(self, found: Held) -> None:
        one, choices, each = found
        firsts = [paths[0] for paths in choices if paths]
        if firsts:
            path, explains = common_path(firsts)
            record = holder_record(one, path, t=self._clock(), g=self._generation)
            record.explains, record.asked, record.retained_bytes = explains, len(choices), each
            self._add(record)
            if record.root == STOPPED:
                self._unanswered.add(one.key)
            else:
                self._unanswered.discard(one.key)
        self._close(one)


def heap_ns(each_ns: int) -> int:
    """What something is expected to take that looks at every object: no heap is walked to know its size."""
    return each_ns * sys.getallocatedblocks()
