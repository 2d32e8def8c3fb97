"""Long chains of one type (linked lists, causes of causes, versions of versions): climbed at once, not link by link.

A search that goes up one link a pass over the heap would need as many passes as there are links.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from phaseprof.probes.census import collected_instances
from phaseprof.probes.holding.edges import hop
from phaseprof.probes.holding.graph import Node
from phaseprof.probes.typeinfo import is_heap_type

# Objects of one type on the way up before they are taken for a chain, and what one look at a type may cost.
LINKS = 4
_MOST_INSTANCES = 300_000
_ATTRIBUTES_IN_DICT = sys.version_info < (3, 13)


@dataclass(frozen=True)
class Climb:
    """The far end of a chain.

    Attributes:
        head: the object that the chain hangs from, of the same type.
        link: text of the link by which the object that was asked about is held, such as ``.previous``.
        n_links: links from ``head`` down to that object.
    """

    head: object
    link: str
    n_links: int


def chain_ends(frontier: list[Node], known: Iterator[Node]) -> list[Node]:
    """Return one node of the frontier for each type that was met often enough on the way up to look like a chain."""
    met: dict[int, int] = {}
    for node in known:
        key = id(type(node.obj))
        met[key] = met.get(key, 0) + 1
    newest = {id(type(node.obj)): node for node in frontier if is_heap_type(type(node.obj))}
    return [node for key, node in newest.items() if met.get(key, 0) >= LINKS]


def climb(bottom: object) -> Climb | None:
    """Follow the holders of an object that are of its own type to the one that is farthest up.

    Returns:
        ``None`` where there is no such chain of at least ``LINKS`` links.
    Cost: one pass over the heap, and 2 µs an instance of the type; nothing is kept.
    """
    cls = type(bottom)
    above: dict[int, list[tuple[object, object | None]]] = {}
    instances = collected_instances([cls])
    try:
        for holder in islice(instances, _MOST_INSTANCES):
            for child, between in _links_of(holder, cls):
                above.setdefault(id(child), []).append((holder, between))
        return _farthest(bottom, above)
    finally:
        instances.clear()
        above.clear()


def _links_of(holder: object, cls: type) -> Iterator[tuple[object, object | None]]:
    """Yield what an instance refers to of its own type, with the dictionary of attributes between, if there is one."""
    for found in gc.get_referents(holder):
        if type(found) is cls:
            yield found, None
        elif _ATTRIBUTES_IN_DICT and type(found) is dict:
            yield from ((value, found) for value in list(found.values()) if type(value) is cls)


def _farthest(bottom: object, above: dict[int, list[tuple[object, object | None]]]) -> Climb | None:
    distance = {id(bottom): 0}
    queue = [bottom]
    for current in queue:
        for holder, _ in above.get(id(current), ()):
            if id(holder) not in distance:
                distance[id(holder)] = distance[id(current)] + 1
                queue.append(holder)
    head = queue[-1]
    if distance[id(head)] < LINKS:
        return None
    holder, between = above[id(bottom)][0]
    chain = (holder, bottom) if between is None else (holder, between, bottom)
    return Climb(head, hop(chain, 0)[0], distance[id(head)])
