"""Who keeps an object alive: the path from a root to it, as text.

All suspects are searched together, one pass over the heap a level, and every object that the search met is dropped
before a path is returned. Nothing of the user's is run: attributes are read through C descriptors, keys are shown only
where their type is an exact built-in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from phaseprof.errors import UsageError
from phaseprof.probes.holding.graph import Node
from phaseprof.probes.holding.outside import explain_orphan
from phaseprof.probes.holding.ranking import Candidate, Ranking, size_of
from phaseprof.probes.holding.reading import type_name
from phaseprof.probes.holding.search import Search
from phaseprof.probes.holding.steps import steps_of
from phaseprof.probes.skipped import skip
from phaseprof.probes.uninterrupted import uninterrupted
from phaseprof.records import STOPPED, without_numbers

# Levels that a search goes on for after every suspect has a path, to find the one that explains growth.
_EXTRA_LEVELS = 4
_MAX_CHOICES = 3


@dataclass(frozen=True)
class HolderPath:
    """How one object is kept alive.

    Attributes:
        steps: text, nearest root first; ``" ".join(steps)`` is the whole path.
        root: what the chain ends at: ``module global``, ``class attribute``, ``local of a running function``,
            ``context variable``, ``garbage``, ``outside Python`` or ``unknown (search stopped)``.
        reason: one sentence where the root is not an ordinary one, else ``""``.
        bound: capacity of ``container``, where the deque, the cache or the owner declares one.
        bound_length: number of items in that bounded container.
        container: type name and length of the container on the path whose items lead to most of the suspects.
        container_id: ``id()`` of that container.
    """

    steps: tuple[str, ...]
    root: str
    reason: str = ""
    bound: int | None = None
    bound_length: int | None = None
    container: tuple[str, int] | None = None
    container_id: int | None = None

    def __str__(self) -> str:
        return " ".join(self.steps)


def find_holders(
    suspects: Sequence[object], *, deadline_s: float | None = None, ignore: Collection[int] = ()
) -> list[HolderPath]:
    """Return the path that best explains why each suspect is alive, in the order given.

    See ``find_holder_choices`` for the arguments and the cost.
    """
    return [paths[0] for paths in find_holder_choices(suspects, deadline_s=deadline_s, ignore=ignore)]


@uninterrupted
def find_holder_choices(
    suspects: Sequence[object], *, deadline_s: float | None = None, ignore: Collection[int] = ()
) -> list[list[HolderPath]]:
    """Return up to three paths for each suspect, best first, each through another container.

    Preferred are paths through an unbounded container that leads to many of the suspects, the user's own names over
    registries of the interpreter, and short ones.

    Args:
        suspects: the objects asked about, a few dozen at most; all are searched together.
        deadline_s: seconds of processor time after which no further pass is made.
        ignore: ids of objects that hold nothing that counts (lists of the caller's).

    Cost: one ``gc.get_referrers`` pass a level, 15 to 70 ns for each object of the heap by the number of arguments;
        a path of five levels in a heap of a million objects takes 0.2 to 0.4 s. Suspects that the collector does not
        track (arrays, strings) and that sit in tuples or dicts of plain data cost one forward pass more.
    """
    if not suspects:
        return []
    with Search(suspects, deadline_s, ignore) as search:
        search.run(_Stopping(search))
        ranking = Ranking(search.suspects)
        orphans = [node for node in search.suspects if not ranking.candidates(node)]
        for node in orphans:
            try:
                explain_orphan(node, search)
            except Exception as error:  # noqa: BLE001 - whatever an object of a library's own raises
                skip(node.obj, error)
        if orphans:
            ranking = Ranking(search.suspects)
        return [_choices(node, ranking) for node in search.suspects]


class _Stopping:
    """Decides after each level whether another may tell more."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._since: int | None = None

    def __call__(self, level: int) -> bool:
        suspects = dict.fromkeys(self._search.suspects)
        ranking = Ranking(self._search.suspects)
        if all(ranking.is_settled(node) for node in suspects):
            return True
        if self._since is None and all(ranking.has_ordinary_root(node) for node in suspects):
            self._since = level
        return self._since is not None and level - self._since >= _EXTRA_LEVELS


def _choices(node: Node, ranking: Ranking) -> list[HolderPath]:
    found = []
    for candidate in ranking.candidates(node)[:_MAX_CHOICES]:
        try:
            found.append(_path(candidate))
        except Exception as error:  # noqa: BLE001 - whatever an object on the path raises
            skip(node.obj, error)
    return found or [HolderPath((type_name(type(node.obj)),), STOPPED, "the path to it could not be put into words")]


def _path(found: Candidate) -> HolderPath:
    root = found.nodes[0].root
    inner = found.container
    return HolderPath(
        steps=steps_of(found.nodes),
        root=root.kind if root else STOPPED,
        reason=root.reason if root else "",
        bound=found.bound,
        bound_length=found.bound_length,
        container=None if inner is None else (type_name(type(inner.obj)), size_of(inner.obj) or 0),
        container_id=None if inner is None else id(inner.obj),
    )


def common_path(paths: Sequence[HolderPath]) -> tuple[HolderPath, int]:
    """Return the path that most of the given ones share, and how many it explains.

    Paths agree when they lead through the same container, or read the same but for indexes and lengths. In the
    returned steps an index that differs among them is written ``[...]``.

    Raises:
        UsageError: no paths were given.
    """
    if not paths:
        raise UsageError("paths must hold at least one path (got none); pass what find_holders returned")
    containers = Counter(path.container_id or _shape(path) for path in paths)
    key = containers.most_common(1)[0][0]
    group = [path for path in paths if (path.container_id or _shape(path)) == key]
    shape = Counter(map(_shape, group)).most_common(1)[0][0]
    alike = [path for path in group if _shape(path) == shape]
    steps = tuple(_merge(texts) for texts in zip(*(path.steps for path in alike), strict=True))
    return replace(alike[0], steps=steps), len(group)


def _shape(path: HolderPath) -> tuple[str, ...]:
    return tuple(map(without_numbers, path.steps))


def _merge(texts: tuple[str, ...]) -> str:
    first = texts[0]
    return first if all(text == first for text in texts) else without_numbers(first)
