"""The deep size of one object in parts, between which nothing is held.

The walk is one of depth first over a few *open* objects, each known by its path from the root: which of its parent's
referents it is.  Their referents are measured in batches, each with all that it reaches.  One that takes too long is
taken back and tried again with fewer; a single object that takes too long by itself is opened in turn.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import cast

from phaseprof.native.extension import extension
from phaseprof.probes.size_in_c import NeedsPython, SizeWalkInC
from phaseprof.probes.size_plans import Planner
from phaseprof.probes.size_walk import CHUNK, Found, Known, SizeWalk

# How long a batch may take before it is taken back, and for how long one must have taken not to be doubled.
_ATTEMPT_S, _SHORT_S = 0.01, 0.002
# A container with a larger table (60,000 items and more) is opened without an attempt.
_WIDEST_BYTES = 500_000
# In C one container is gone through without a look at the clock: where all is tried in one go and time is limited, a
# larger table (250,000 items and more, up to 25 ms) ends the attempt.
_WIDEST_WHOLE_BYTES = 2_000_000
# Opening costs an attempt that was in vain: a chain of a million links, which would take as many, is left unfinished.
_MOST_OPENED, _MOST_DEEP = 400, 100


@dataclass
class _Open:
    """An object whose referents are measured in batches.

    Attributes:
        identity: its id.
        width: how many referents it had.
        position: how many of them are done.
        batch: how many to try next.
    """

    identity: int
    width: int
    position: int = 0
    batch: int = 1


class InParts:
    """Measures one object in steps.

    Args:
        keeps_sizes: keep the id and size of each object, to tell what is shared.

    Attributes:
        found: what was added up.
        is_done: nothing is left.
        is_truncated: something was left out: the size is a lower bound.
    """

    def __init__(self, *, keeps_sizes: bool) -> None:
        self._is_in_c = extension() is not None
        self._begin(keeps_sizes)

    def _begin(self, keeps_sizes: bool) -> None:
        self.found = Found(keeps_sizes=keeps_sizes)
        self.is_done = self.is_truncated = False
        self._known = Known()
        self._open: list[_Open] = []
        self._n_opened = 0
        # In C most objects are done in one go.
        self._is_tried_whole = not self._is_in_c

    def step(self, root: object, planner: Planner, end: float) -> bool:
        """Go on until a time of ``perf_counter``; return whether all is done."""
        try:
            return self._try_whole(root, planner, end) or self._step(root, planner, end)
        except NeedsPython:
            self._go_on_in_python()
            return self._step(root, planner, end)

    def run(self, root: object, planner: Planner, end: float) -> None:
        """Measure all in one go until a time of ``perf_counter``; if that is too short, the size is a lower bound."""
        try:
            self._run(root, planner, end, takes_part=True)
        except NeedsPython:
            self._go_on_in_python()
            self._run(root, planner, end, takes_part=True)

    def _go_on_in_python(self) -> None:
        self._is_in_c = False
        self._begin(self.found.keeps_sizes)

    def _try_whole(self, root: object, planner: Planner, end: float) -> bool:
        """Measure all at once, where that was not tried yet; return whether the time was enough."""
        if not self._is_tried_whole:
            self._is_tried_whole = True
            self._run(root, planner, end, takes_part=False)
        return self.is_done

    def _run(self, root: object, planner: Planner, end: float, *, takes_part: bool) -> None:
        widest_bytes = None if takes_part or end == math.inf else _WIDEST_WHOLE_BYTES
        walker = self._walker(planner, widest_bytes=widest_bytes, has_successors=not takes_part)
        try:
            self.is_done = walker.run([root], limit_s=end - time.perf_counter())
            if self.is_done or takes_part:
                self._accept(walker)
        finally:
            walker.drop()

    def _step(self, root: object, planner: Planner, end: float) -> bool:
        if not self._open:
            self._open.append(_Open(0, 1))
        # What is open, as objects; the first is a list of our own around the root.
        objects = [_Holder([root], planner)]
        try:
            self._resolve(objects, planner)
            # Finding the place again may have taken all the time: something is measured in each step all the same.
            goes_on = self._go_on(objects, planner, float("inf"))
            while self._open:
                if not goes_on or time.perf_counter() >= end:
                    return False
                goes_on = self._go_on(objects, planner, end)
            self.is_done = True
            return True
        finally:
            objects.clear()

    def _resolve(self, objects: list[_Holder], planner: Planner) -> None:
        """Find the open objects again; what is not where it was is given up, with all below it."""
        for above, below in zip(list(self._open), self._open[1:], strict=False):
            child = objects[-1].take(above.position - 1, 1)
            if not child or id(child[0]) != below.identity:
                self.is_truncated = True
                del self._open[len(objects) :]
                return
            objects.append(_Holder(child[0], planner))

    def _go_on(self, objects: list[_Holder], planner: Planner, end: float) -> bool:
        """Measure the next batch of the innermost open object; return whether there is time for another."""
        place, holder = self._open[-1], objects[-1]
        if place.position >= place.width:
            self._open.pop()
            objects.pop()
            return True
        batch = holder.take(place.position, place.batch)
        n_batch = len(batch)
        if not n_batch:  # it has become shorter
            self.is_truncated = True
            place.width = place.position
            return True
        # By the thread's own clock: on a busy machine a small object may take long by any other.
        began = time.thread_time()
        walker = self._walker(planner)
        try:
            if walker.run(batch, limit_s=_ATTEMPT_S, is_cpu_time=True):
                self._accept(walker)
                place.position += n_batch
                took = time.thread_time() - began
                if took < _SHORT_S:
                    place.batch = min(2 * place.batch, CHUNK)
                return time.perf_counter() + took < end
        finally:
            walker.drop()
        holder.rewind()
        if n_batch > 1:
            place.batch = max(1, n_batch // 8)
            return True
        self._open_up(objects, planner, place)
        return True

    def _open_up(self, objects: list[_Holder], planner: Planner, place: _Open) -> None:
        """Open one referent that takes too long by itself, or leave out what is behind it."""
        (child,) = objects[-1].take(place.position, 1)
        place.position += 1
        walker = self._walker(planner)
        try:
            walker.measure_alone(child)
            self._accept(walker)
        finally:
            walker.drop()
        self._n_opened += 1
        if self._n_opened > _MOST_OPENED or len(self._open) > _MOST_DEEP:
            self.is_truncated = True
            return
        objects.append(_Holder(child, planner))
        self._open.append(_Open(id(child), objects[-1].width()))

    def _walker(
        self, planner: Planner, *, widest_bytes: int | None = _WIDEST_BYTES, has_successors: bool = True
    ) -> SizeWalk | SizeWalkInC:
        keeps_sizes = self.found.keeps_sizes
        if self._is_in_c:
            known = self._known if has_successors else None
            return SizeWalkInC(known, keeps_sizes=keeps_sizes, widest_bytes=widest_bytes)
        return SizeWalk(planner, self._known, keeps_sizes=keeps_sizes, widest_bytes=widest_bytes)

    def _accept(self, walker: SizeWalk | SizeWalkInC) -> None:
        self.found.merge(walker.found)
        walker.commit()


class _Holder:
    """An open object within one step, and how far its referents were taken."""

    def __init__(self, holder: object, planner: Planner) -> None:
        self._holder = holder
        self._planner = planner
        self._rest: Iterator[object] | None = None

    def width(self) -> int:
        """Return how many referents are followed."""
        cls = type(self._holder)
        if cls is dict:
            return 2 * len(cast("dict[object, object]", self._holder))
        if cls is list or cls is tuple or cls is deque:
            return len(cast("Sequence[object]", self._holder))
        return len(self._all())

    def take(self, start: int, count: int) -> list[object]:
        """Return the referents from a position on; a call goes on where the one before it ended."""
        cls = type(self._holder)
        if cls is list or cls is tuple:
            return list(cast("Sequence[object]", self._holder)[start : start + count])
        if self._rest is None:
            self._rest = self._iterator(start)
        return list(islice(self._rest, count))

    def rewind(self) -> None:
        """Let the next call begin anew at the position it names."""
        self._rest = None

    def _iterator(self, start: int) -> Iterator[object]:
        cls = type(self._holder)
        if cls is dict:
            mapping = cast("dict[object, object]", self._holder)
            n = len(mapping)
            return islice(mapping.values(), start - n, None) if start >= n else self._keys_first(mapping, start)
        return islice(cast("deque[object]", self._holder) if cls is deque else self._all(), start, None)

    @staticmethod
    def _keys_first(mapping: dict[object, object], start: int) -> Iterator[object]:
        return chain(islice(mapping, start, None), mapping.values())

    def _all(self) -> list[object]:
        return SizeWalk(self._planner, Known()).following(self._holder)
