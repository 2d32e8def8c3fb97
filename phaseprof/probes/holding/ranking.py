"""Choose among the paths that lead to a suspect: the user's own, and the one that explains growth."""

from __future__ import annotations

import functools
import heapq
import itertools
import threading
import types
from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.probes.holding import reading
from phaseprof.probes.holding.bounds import bound_of
from phaseprof.probes.holding.edges import LRU_CACHE
from phaseprof.probes.holding.graph import Node, ancestors
from phaseprof.probes.holding.roots import BOOKKEEPING
from phaseprof.probes.holding.steps import lru_entries
from phaseprof.probes.typeinfo import is_one_of

# Paths that are looked at for one suspect, and how often one holder may be part of them.
_MAX_PATHS = 16
_VISITS = 4
_MAX_POPS = 4_000
# A container counts as one that grows when it holds several suspects or at least this many items.
_MANY_ITEMS = 8
# What a path costs more than one through an unbounded container that holds many suspects, in steps. A loop variable
# holds the newest survivor by a very short path, and a replay buffer that is full by one as short as the leak's.
_NO_CONTAINER, _BOUNDED = 10.0, 12.0
_NO_CONTAINER_ALONE, _BOUNDED_ALONE = 3.0, 5.0
_FRAME_CHAIN = 4.0
# What keeps its own parts in tuples and dictionaries that nobody wrote down.
_WITH_INSIDES = (types.FunctionType, functools.partial, LRU_CACHE)


@dataclass(frozen=True)
class Candidate:
    """One path from a root to a suspect.

    Attributes:
        nodes: root first, suspect last.
        cost: steps, with what speaks against the path added; the lowest is told first.
        container: the container whose items lead to most suspects, innermost first.
        bound, bound_length: capacity and length of that container.
        explains: an unbounded container of many suspects, or of many items, is on the path.
    """

    nodes: tuple[Node, ...]
    cost: float
    container: Node | None
    bound: int | None
    bound_length: int | None
    explains: bool = False


class Ranking:
    """Ranks the paths of all suspects of one search; valid only while the search is open."""

    def __init__(self, suspects: Sequence[Node]) -> None:
        self._suspects = suspects
        self._above = {node: ancestors(node) for node in dict.fromkeys(suspects)}
        self._support: dict[Node, int] = {}
        self._children: dict[Node, list[Node]] = {}
        for nodes in self._above.values():
            for node in nodes:
                self._support[node] = self._support.get(node, 0) + 1
        for node in self._support:
            for parent in node.parents:
                self._children.setdefault(parent, []).append(node)
        self._distance = self._distances()

    def candidates(self, suspect: Node) -> list[Candidate]:
        """Return the paths to one suspect, best first, one for each container that explains it."""
        best: dict[Node, Candidate] = {}
        for nodes in self._paths(suspect):
            found = self._judge(nodes)
            key = found.container or nodes[0]
            if key not in best or found.cost < best[key].cost:
                best[key] = found
        return sorted(best.values(), key=lambda found: found.cost)

    def is_settled(self, suspect: Node) -> bool:
        """Say whether the best path needs no better one: an ordinary root, and a container that explains growth."""
        found = self.candidates(suspect)
        return bool(found) and found[0].explains and _is_ordinary(found[0].nodes[0])

    def has_ordinary_root(self, suspect: Node) -> bool:
        """Say whether some path ends at a root that is not the interpreter's own bookkeeping."""
        return any(map(_is_ordinary, self._above[suspect]))

    def _distances(self) -> dict[Node, float]:
        """Return each node's distance to its nearest root."""
        order = itertools.count()
        heap: list[tuple[float, int, Node]] = []
        heap += [(node.root.penalty, next(order), node) for node in self._support if node.root is not None]
        heapq.heapify(heap)
        distance: dict[Node, float] = {}
        while heap:
            cost, _, node = heapq.heappop(heap)
            if node in distance:
                continue
            distance[node] = cost
            for child in self._children.get(node, ()):
                if child not in distance:
                    heapq.heappush(heap, (cost + _weight(node, child), next(order), child))
        return distance

    def _paths(self, suspect: Node) -> list[tuple[Node, ...]]:
        """Return the shortest paths without repetition, by A* with the exact distance to a root."""
        if suspect not in self._distance:
            return []
        order = itertools.count()
        heap: list[tuple[float, int, float, tuple[Node, ...]]] = []
        heap.append((self._distance[suspect], next(order), 0.0, (suspect,)))
        visits: dict[Node, int] = {}
        found: list[tuple[Node, ...]] = []
        for _ in range(_MAX_POPS):
            if not heap or len(found) == _MAX_PATHS:
                break
            _, _, cost, path = heapq.heappop(heap)
            node = path[0]
            visits[node] = visits.get(node, 0) + 1
            if visits[node] > _VISITS:
                continue
            if node.root is not None and node is not suspect:
                found.append(path)
                continue
            for parent in node.parents:
                if parent in self._distance and parent not in path:
                    price = cost + _weight(parent, node)
                    heapq.heappush(heap, (price + self._distance[parent], next(order), price, (parent, *path)))
        if suspect.root is not None and not found:
            found.append((suspect,))
        return found

    def _judge(self, nodes: tuple[Node, ...]) -> Candidate:
        root = nodes[0].root
        cost = _visible(nodes) + (root.penalty if root else 0.0) + sum(map(_extra, nodes, nodes[1:]))
        container, owner = self._container(nodes)
        alone = len(self._above) == 1
        # A suspect that leads to others is the container that grows: the nearest way to it is the best.
        leads_to_others = self._support[nodes[-1]] > 1
        if container is None or leads_to_others or not self._explains(container):
            cost += _NO_CONTAINER_ALONE if alone else _NO_CONTAINER
            return Candidate(nodes, cost, container, *_bound(container, owner))
        bound, size = _bound(container, owner)
        cost -= 2 * self._support[container] / len(self._above)
        if bound is not None:
            cost += _BOUNDED_ALONE if alone else _BOUNDED
        return Candidate(nodes, cost, container, bound, size, explains=bound is None)

    def _explains(self, container: Node) -> bool:
        support, total = self._support[container], len(self._above)
        if total == 1:
            return (size_of(container.obj) or 0) >= _MANY_ITEMS
        return support >= max(2, total / 3)

    def _container(self, nodes: tuple[Node, ...]) -> tuple[Node | None, object]:
        """Return the innermost container that leads to at least half as many suspects as any on the path."""
        found = [(nodes[i], _owner(nodes, i)) for i in range(len(nodes) - 2, -1, -1) if _is_container(nodes, i)]
        if not found:
            return None, None
        most = max(self._support[node] for node, _ in found)
        if most == 1:
            return max(found, key=lambda pair: size_of(pair[0].obj) or 0)
        return next(pair for pair in found if 2 * self._support[pair[0]] >= most)


def size_of(obj: object) -> int | None:
    """Return the length of a container or the entries of an ``lru_cache``."""
    return lru_entries(obj)[0] if type(obj) is LRU_CACHE else reading.length(obj)


def _is_ordinary(node: Node) -> bool:
    return node.root is not None and node.root.penalty < BOOKKEEPING


def _visible(nodes: tuple[Node, ...]) -> int:
    """Count the steps a reader sees: before Python 3.11 every instance refers to its attributes by a dictionary."""
    hidden = sum(1 for at in range(1, len(nodes)) if type(nodes[at].obj) is dict and not _is_container(nodes, at))
    return len(nodes) - hidden


def _weight(parent: Node, child: Node) -> float:
    return 1.0 + _extra(parent, child)


def _extra(parent: Node, child: Node) -> float:
    """Return what speaks against one link: a frame that remembers its caller is nobody's intention."""
    is_frame_chain = type(parent.obj) is types.FrameType and type(child.obj) is types.FrameType
    return _FRAME_CHAIN if is_frame_chain else 0.0


def _is_container(nodes: tuple[Node, ...], at: int) -> bool:
    """Say whether the node is a container somebody wrote down, not a namespace or the inside of another object."""
    obj = nodes[at].obj
    if type(obj) is LRU_CACHE:
        return True
    if reading.container_base(obj) is None or (at == 0 and nodes[0].root and nodes[0].root.kind == "module global"):
        return False
    if at == 0 or nodes[at - 1].obj is None:
        return True
    holder = nodes[at - 1].obj
    if is_one_of(obj, (dict, tuple)):
        if is_one_of(holder, _WITH_INSIDES) or issubclass(type(holder), (type, BaseException, threading.local)):
            return False
        if type(obj) is dict and reading.container_base(holder) is None:
            return reading.instance_namespace(holder) is not obj
    return True


def _owner(nodes: tuple[Node, ...], at: int) -> object:
    """Return the instance in an attribute of which the container is."""
    if at and type(nodes[at - 1].obj) is dict and at > 1 and not _is_container(nodes, at - 1):
        return nodes[at - 2].obj
    return nodes[at - 1].obj if at else None


def _bound(container: Node | None, owner: object) -> tuple[int | None, int | None]:
    return (None, None) if container is None else bound_of(container.obj, owner)
