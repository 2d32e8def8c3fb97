"""The search itself: one pass over the heap a level, for all suspects together."""

from __future__ import annotations

import gc
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from phaseprof.probes.holding.chains import chain_ends, climb
from phaseprof.probes.holding.graph import Node, ancestors
from phaseprof.probes.holding.reading import is_our_code, is_ours, is_unsafe
from phaseprof.probes.holding.roots import Roots
from phaseprof.probes.holding.tensor_links import may_be_held_by_torch, parents_in_torch, references_in_cpp
from phaseprof.probes.holding.untracked import parents_not_tracked
from phaseprof.probes.uninterrupted import referrers

# ``gc.get_referrers`` compares each reference in the heap with each argument in turn; up to 64 arguments a pass stays
# within four times the price of one (0.6 million objects: 9 ms for 1, 19 for 30, 40 for 60).
MAX_WIDTH = 64
# Heap passes of one search.
MAX_LEVELS = 40
# Holders of one kind kept for one object: a configuration that 100,000 items share would fill every level.
_SAME_KIND = 6
# Referrers looked at closely in one pass; more means an object that everything shares.
_MAX_REFERRERS = 20_000
_MAX_HIDDEN_PASSES = 6
# References counted in every Node: its own slot, and the argument of ``sys.getrefcount``.
_OWN_REFERENCES = 2
# Levels after which chains of one type are looked for.
_CHAINS_AT = (6, 12, 24)  # even: up to Python 3.10 a dictionary of attributes lies between two links
# Objects that the interpreter never frees carry a count in this range (3.12+).
_IMMORTAL = 1 << 29


class Search:
    """Breadth-first search from the suspects up to the roots; use it in a ``with`` block, which drops every object.

    Args:
        suspects: the objects asked about.
        deadline_s: seconds of processor time, of which a busy machine takes none away; the pass under way is finished
            first.  ``None``: no limit.
        ignore: ids of objects that hold nothing that counts.
    """

    def __init__(self, suspects: Sequence[object], deadline_s: float | None, ignore: Collection[int]) -> None:
        self._deadline_s = deadline_s
        self.stopped = False
        self._hidden_passes = 0
        self._began = time.thread_time()
        self._roots = Roots()
        self._nodes: dict[int, Node] = {}
        self.suspects = [self._node(obj, 0) for obj in suspects]
        self._given = id(suspects)
        for node in self.suspects:  # what the caller's own sequence holds
            node.accounted += 1
        self._skip = {*ignore, self._given}

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for node in self._nodes.values():
            node.parents.clear()
            node.jump = None
            node.obj = None
        self._nodes.clear()
        self.suspects.clear()

    def run(self, is_done: Callable[[int], bool]) -> None:
        """Search level by level until ``is_done(level)``, a limit, or the end of every chain."""
        frontier = list(dict.fromkeys(self.suspects))
        for level in range(1, MAX_LEVELS + 1):
            frontier = self._expand(frontier, level)
            if level == 1:
                frontier += self._hidden([n for n in self.suspects if not (n.parents and gc.is_tracked(n.obj))], level)
            if level in _CHAINS_AT:
                frontier = [*self._climb(frontier, level), *frontier]
            if not frontier:
                frontier = self._hidden(self._unexplained(), level)
            if not frontier or is_done(level):
                return
            if self._deadline_s is not None and time.thread_time() - self._began > self._deadline_s:
                break
        self.stopped = True

    @property
    def functions_not_read(self) -> Sequence[str]:
        """Names of the program's running functions whose locals were not looked at, innermost first."""
        return self._roots.not_read

    def unaccounted(self, node: Node) -> int:
        """Return how many references to the node's object nothing in Python explains; 0 for immortal objects."""
        count = sys.getrefcount(node.obj) - _OWN_REFERENCES
        return 0 if count > _IMMORTAL else max(0, count + references_in_cpp(node.obj) - node.accounted)

    def _node(self, obj: object, level: int) -> Node:
        node = self._nodes.get(id(obj))
        if node is None:
            node = self._nodes[id(obj)] = Node(obj, level)
            if level:
                node.root = self._roots.of(obj)
            holders, count = self._roots.local_holders(obj)
            node.parents += holders
            node.accounted += count
        return node

    def _expand(self, frontier: list[Node], level: int) -> list[Node]:
        """Find the holders of every node of the frontier in one pass over the heap."""
        if not frontier:
            return []
        by_id = {id(node.obj): node for node in frontier}
        targets = tuple(node.obj for node in frontier)
        found = self._attach(referrers(targets), by_id, level)
        del targets
        for node in frontier:
            node.expanded = True
        return self._narrow(found)

    def _attach(self, referrers: list[object], by_id: dict[int, Node], level: int) -> list[Node]:
        kept: Counter[tuple[int, int]] = Counter()
        found: list[Node] = []
        if len(referrers) > _MAX_REFERRERS:
            self._thin(referrers, by_id)
        for referrer in referrers:
            if type(referrer) is Node or id(referrer) == self._given or is_unsafe(referrer):
                continue
            hits = Counter(filter(by_id.__contains__, map(id, gc.get_referents(referrer))))
            ours = self._is_ours(referrer)
            for identity, times in hits.items():
                child = by_id[identity]
                child.accounted += times
                if ours or (times == 1 and type(referrer) is child.obj):  # an instance refers to its class
                    continue
                kept[identity, id(type(referrer))] += 1
                if kept[identity, id(type(referrer))] > _SAME_KIND and self._roots.of(referrer) is None:
                    child.truncated = True
                    continue
                known = id(referrer) in self._nodes
                parent = self._node(referrer, level)
                child.parents.append(parent)
                if not known and parent.root is None:
                    found.append(parent)
        return found

    def _thin(self, referrers: list[object], by_id: dict[int, Node]) -> None:
        """Keep the roots and both ends of a list of referrers that is too long to look at; its tail is the newest."""
        for node in by_id.values():
            node.truncated = True
        half = _MAX_REFERRERS // 2
        middle = [referrer for referrer in referrers[half:-half] if self._roots.of(referrer) is not None]
        referrers[half:-half] = middle

    def _is_ours(self, referrer: object) -> bool:
        identity = id(referrer)
        if identity in self._skip or identity in self._roots.ours or is_ours(type(referrer)):
            return True
        return type(referrer) is types.FrameType and is_our_code(referrer.f_code)

    def _narrow(self, found: list[Node]) -> list[Node]:
        """Keep a frontier within its width; what is dropped is marked, so that no false claim is built on it."""
        for node in found[MAX_WIDTH:]:
            node.truncated = True
        return found[:MAX_WIDTH]

    def _unexplained(self) -> list[Node]:
        """Return what is known above those suspects from which no root is reached."""
        above = [ancestors(node) for node in self.suspects]
        return [node for nodes in above if not any(n.root for n in nodes) for node in nodes if node.expanded]

    def _hidden(self, nodes: list[Node], level: int) -> list[Node]:
        """Find holders that the collector does not show, for nodes with references that nothing else explains."""
        frontier: list[Node] = []
        for find in (self._in_torch, parents_not_tracked):
            wanted = {id(node.obj): node.obj for node in nodes if node.root is None and self.unaccounted(node)}
            if wanted and self._hidden_passes < _MAX_HIDDEN_PASSES:
                self._hidden_passes += 1
                frontier += self._link(find(wanted), level)
        return list(dict.fromkeys(frontier))

    def _climb(self, frontier: list[Node], level: int) -> list[Node]:
        """Go to the far end of what looks like a long chain, and return the nodes that are new."""
        heads = []
        for node in chain_ends(frontier, iter(self._nodes.values())):
            found = climb(node.obj)
            if found is None:
                continue
            is_new = id(found.head) not in self._nodes
            head = self._node(found.head, level)
            node.parents.append(head)
            node.jump = (head, found.link, found.n_links)
            heads += [head] * is_new
        return heads

    def _in_torch(self, wanted: dict[int, object]) -> list[tuple[object, object]]:
        return parents_in_torch({identity: obj for identity, obj in wanted.items() if may_be_held_by_torch(obj)})

    def _link(self, pairs: list[tuple[object, object]], level: int) -> list[Node]:
        """Add links that were found another way, and return the nodes that are new."""
        found = []
        for parent_obj, child_obj in pairs:
            for obj in (child_obj, parent_obj):
                if id(obj) not in self._nodes:
                    found.append(self._node(obj, level))
            child, parent = self._node(child_obj, level), self._node(parent_obj, level)
            child.accounted += 1
            if parent not in child.parents:
                child.parents.append(parent)
        return found
