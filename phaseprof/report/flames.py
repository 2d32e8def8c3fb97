"""The heap by place as trees whose parts add up: what lay where, what came, and what two runs have apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import Generations
from phaseprof.units import format_bytes

# A part that is narrower than this share of the whole has no room for a letter.
_LEAST_SHARE = 0.003
_MODULE = "module "


@dataclass(frozen=True)
class FlameNode:
    """One place with all below it.

    Attributes:
        parent: position of the node above; -1 for the whole.
        name: the last step of the path to it.
        n_bytes: bytes there and below; at least the sum of the nodes right below.
        n_objects: objects at the place itself; 0 where they are not counted.
    """

    parent: int
    name: str
    n_bytes: int
    n_objects: int = 0


@dataclass(frozen=True)
class Flame:
    """A tree of places, the whole first and each parent before its children.

    Attributes:
        title: what it is of, in a few words.
        words: what it is of, in a sentence.
        nodes: the places.
    """

    title: str
    words: str
    nodes: tuple[FlameNode, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of the whole."""
        return self.nodes[0].n_bytes


def flames_of(process: ProcessRun) -> list[Flame]:
    """Return what came between two looks at the heap, if anything did, and the heap as it was at the newest."""
    places = process.places
    if places is None or not places.heap:
        return []
    names = Generations(process)
    now, since = names.name(places.g), names.name(places.since)
    held = [(row.parent, row.name, row.bytes, row.objects) for row in places.heap]
    came = [(row.parent, row.name, row.came, 0) for row in places.heap]
    found = [
        _flame(
            f"What came, generation {since} to {now}",
            f"{format_bytes(places.heap[0].came)} came between the looks at the heap in generations {since} and {now}; "
            f"what was freed at other places is not subtracted: in all, the heap grew by {format_bytes(places.bytes)}",
            came,
        ),
        _flame(
            f"The heap at generation {now}",
            f"{format_bytes(places.heap[0].bytes)} of Python objects and what they hold, in generation {now}", held,
        ),
    ]  # fmt: skip
    return [flame for flame in found if flame.n_bytes > 0]


def flames_between(before: ProcessRun, after: ProcessRun) -> list[Flame]:
    """Return what the newest heap of one run has more than that of another, and what it has less, by place."""
    if not (before.places and before.places.heap and after.places and after.places.heap):
        return []
    old, new = _own_by_path(before.places.heap), _own_by_path(after.places.heap)
    paths = sorted(old.keys() | new.keys())
    more = {path: max(0, new[path] - old[path]) for path in paths}
    less = {path: max(0, old[path] - new[path]) for path in paths}
    found = [
        tree_of("More in the later run", "Bytes by which the later run's newest heap is larger, by place", more),
        tree_of("Less in the later run", "Bytes by which the later run's newest heap is smaller, by place", less),
    ]
    return [flame for flame in found if flame.n_bytes > 0]


_Row = tuple[int, str, int, int]


def _flame(title: str, words: str, rows: Iterable[_Row]) -> Flame:
    return Flame(title, words, tuple(FlameNode(*row) for row in _pruned(_by_package(list(rows)))))


def _by_package(rows: list[_Row]) -> list[_Row]:
    """Gather the modules of one package, of which a program has hundreds, under one node of its own."""
    tops = Counter(_package(name) for parent, name, _, _ in rows if parent == 0)
    shared = [package for package, n in tops.items() if package and n > 1]
    at = {package: 1 + i for i, package in enumerate(shared)}
    sums = dict.fromkeys(shared, 0)
    moved: list[_Row] = []
    for parent, name, size, n in rows[1:]:
        above = 0 if parent == 0 else parent + len(shared)
        if parent == 0 and _package(name) in at:
            above = at[_package(name)]
            sums[_package(name)] += size
        moved.append((above, name, size, n))
    return [*rows[:1], *((0, f"{_MODULE}{package}.*", sums[package], 0) for package in shared), *moved]


def _package(name: str) -> str:
    return name.removeprefix(_MODULE).partition(".")[0] if name.startswith(_MODULE) else ""


def _pruned(rows: Sequence[_Row]) -> list[_Row]:
    """Leave out what is too small to be seen, and with it what lies below."""
    least = max(1.0, _LEAST_SHARE * rows[0][2])
    at = {-1: -1}
    kept: list[_Row] = []
    for number, (parent, name, size, n) in enumerate(rows):
        if parent in at and (size >= least or number == 0):
            at[number] = len(kept)
            kept.append((at[parent], name, size, n))
    return kept


_Path = tuple[str, ...]


def _own_by_path(heap: Sequence[fmt.HeapPlace]) -> Counter[_Path]:
    """Return the bytes of each place without those of the places right below, by the path from the whole."""
    paths: list[_Path] = []
    own: Counter[_Path] = Counter()
    for row in heap:
        above = paths[row.parent] if 0 <= row.parent < len(paths) else ()
        paths.append((*above, row.name))
        own[paths[-1]] += row.bytes
        if above:
            own[above] -= row.bytes
    return own


def tree_of(title: str, words: str, own: Mapping[_Path, int]) -> Flame:
    """Return the tree of bytes that are given by path; every path begins with the name of the whole."""
    total: Counter[_Path] = Counter()
    for path, size in own.items():
        for depth in range(1, len(path) + 1):
            total[path[:depth]] += size
    ordered = sorted(total)  # a path stands before those that go on from it
    at = {path: number for number, path in enumerate(ordered)}
    rows = [(at.get(path[:-1], -1), path[-1], total[path], 0) for path in ordered]
    return _flame(title, words, rows) if rows else Flame(title, words, (FlameNode(-1, "heap", 0),))
