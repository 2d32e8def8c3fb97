"""The part of the heap that a search has seen, upside down: each object with what refers to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Root:
    """Why the chain of holders ends at a node.

    Attributes:
        kind: ``module global``, ``class attribute``, ``local of a running function`` and so on.
        text: how the first step begins, ``module registry`` or ``train.py main()``.
        penalty: how many steps longer another path may be and still be preferred.
        reason: one sentence, where the root is not an ordinary one.
        names: for a running function, the locals by the id of their value.
    """

    kind: str
    text: str
    penalty: float = 0.0
    reason: str = ""
    names: Mapping[int, list[str]] | None = None


class Node:
    """One object on the way up, held strongly until the search ends.

    Attributes:
        obj: the object; ``None`` for a running function.
        parents: the nodes that refer to it, each once.
        level: heap passes that it took to find it; suspects are level 0.
        accounted: references to it that were found, ours and ignored ones among them.
        root: set where the chain ends.
        truncated: it has more holders than were kept.
        expanded: its holders were looked for.
        jump: a parent far up a chain of objects of one type, the text of a link of that chain, and how many there are.
    """

    __slots__ = ("accounted", "expanded", "jump", "level", "obj", "parents", "root", "truncated")

    def __init__(self, obj: object, level: int, root: Root | None = None) -> None:
        self.obj = obj
        self.level = level
        self.root = root
        self.parents: list[Node] = []
        self.accounted = 0
        self.truncated = False
        self.expanded = False
        self.jump: tuple[Node, str, int] | None = None


def ancestors(node: Node) -> list[Node]:
    """Return the node and everything known to lead to it, nearest first."""
    seen = {node: None}
    queue = [node]
    for current in queue:
        for parent in current.parents:
            if parent not in seen:
                seen[parent] = None
                queue.append(parent)
    return queue
