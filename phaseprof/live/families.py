"""What can be followed from boundary to boundary: the instances of a class, and counters; and a census of all types."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

from phaseprof.errors import PhaseprofError
from phaseprof.native import looking
from phaseprof.native.looking import Action
from phaseprof.probes import autograd, tensors
from phaseprof.probes.census import collected_instances
from phaseprof.probes.children import list_children
from phaseprof.probes.held import held_where_needed
from phaseprof.probes.own import is_own_type, own_ids, own_tally
from phaseprof.probes.protocol import Probe
from phaseprof.probes.typeids import made_by_looks_in_c, sift, without
from phaseprof.probes.typeinfo import hashes_plainly
from phaseprof.probes.uninterrupted import uninterrupted

# Nodes followed behind all tensors together.
MOST_NODES = 50_000


class HeapView:
    """One look at the heap that several families share: complete, or the collector's young generations only.

    Use as a context manager: what it holds is dropped at the end.
    """

    def __init__(self, families: Iterable[TypeFamily], *, young: bool) -> None:
        self.young = young
        self._types = [cls for family in families for cls in family.live_classes()]
        self._by_type: dict[int, list[object]] | None = None

    def __enter__(self) -> HeapView:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._by_type = None

    def instances(self, classes: Sequence[type]) -> list[object]:
        """The objects of exactly these types, oldest first."""
        if self._by_type is None:
            self._by_type = self._sort_by_type()
        return [member for cls in classes for member in self._by_type.get(id(cls), ())]

    def _sort_by_type(self) -> dict[int, list[object]]:
        by_type: dict[int, list[object]] = {}
        for member in collected_instances(self._types, young=self.young):
            by_type.setdefault(id(type(member)), []).append(member)
        return by_type


class TypeFamily:
    """The instances of some classes, told apart by their ids; the classes themselves are held weakly."""

    def __init__(self, key: str, classes: Iterable[type]) -> None:
        self.key = key
        self._classes = [weakref.ref(cls) for cls in classes]
        self.subject = key.rpartition("/")[2].rpartition(".")[2]

    def live_classes(self) -> list[type]:
        """The types that still exist."""
        return [cls for ref in self._classes if (cls := ref()) is not None]

    def identities(self, view: HeapView) -> dict[int, None]:
        """Return the id of each instance, in order."""
        return dict.fromkeys(map(id, view.instances(self.live_classes())))

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return the newest of the wanted instances; the caller drops the list."""
        return [o for o in view.instances(self.live_classes()) if id(o) in wanted][-most:]


@uninterrupted
def graph_nodes() -> dict[str, float]:
    """Count the autograd nodes behind live tensors, each once.

    Saved tensors are not read here: that would give each a Python object for as long as the graph lives.

    Cost: a pass over the heap, and 1 µs a node, at most ``MOST_NODES``.
    """
    found: list[object] = list(tensors.tensors_with_graph())
    try:
        return _nodes_of(found)
    finally:
        found.clear()


def _nodes_of(found: Sequence[object]) -> dict[str, float]:
    if not found:
        return {"graph_nodes": 0.0, "graph_tensors": 0.0}
    nodes = autograd.count_nodes(found, max_nodes=MOST_NODES)  # type: ignore[arg-type]
    figures = {"graph_tensors": float(len(found))}
    if nodes < MOST_NODES:  # at the cap the figure would stand still for a reason of its own: missing is honest
        figures["graph_nodes"] = float(nodes)
    return figures


class Census(NamedTuple):
    """Metrics of tensors (none where torch is not loaded), and instances by exact type."""

    figures: dict[str, float]
    counts: dict[type, int]


@held_where_needed
def census_figures() -> Census:
    """Count tracked objects by exact type, and in the same pass the storages and graphs of the tensors among them.

    Returns:
        What was counted; the caller drops the counts, whose keys are types.
    Cost: 25 ns an object in C, in Python 100; 1.5 µs a tensor and 1 µs a graph node.
    """
    figures: dict[str, float] = {}
    torch = tensors.loaded_torch()
    ours = own_tally()
    tally, seen = _sifted()
    try:
        if torch is not None:
            figures.update(_tensor_figures(seen, torch))
        counts = {cls: n - ours.get(cls, 0) for cls, n in tally if hashes_plainly(type(cls)) and not is_own_type(cls)}
        return Census(figures, counts)
    finally:
        seen.clear()


def _sifted() -> tuple[list[tuple[type, int]], list[object]]:
    """Count tracked objects by exact type, and return the tensors among them."""
    wanted: dict[Action, Sequence[type]] = {Action.HAND_OUT: tensors.tensor_types()}
    found = looking.look(wanted, skip=own_ids(), is_deep=False)
    if found is not None:
        return without(found.tally, made_by_looks_in_c()), found.handed
    tally, (seen,) = sift(gc.get_objects, tensors.tensor_types())
    return tally, seen


def _tensor_figures(seen: list[object], torch: ModuleType) -> dict[str, float]:
    by_device: dict[str, tuple[int, int]] = {}
    for size, device in tensors.storages_of(seen).values():  # type: ignore[arg-type]  # picked by type
        count, total = by_device.get(device, (0, 0))
        by_device[device] = (count + 1, total + size)
    figures = {f"storages/{device}_bytes": float(total) for device, (_, total) in by_device.items()}
    figures.update({f"storages/{device}_count": float(count) for device, (count, _) in by_device.items()})
    with tensors.plain_torch(torch):
        inner: list[object] = [*tensors.not_leaves(seen, torch)]  # type: ignore[arg-type]  # picked by type
    try:
        return {**figures, **_nodes_of(inner)}
    finally:
        inner.clear()


Reader = Callable[[], float | None]


@dataclass(frozen=True)
class CounterReader:
    """Reads one counter of a probe; an object of our own type, where a closure would count as the program's."""

    probe: Probe
    metric: str

    def __call__(self) -> float | None:
        """Return the reading; ``None`` where the probe fails."""
        return _read(self.probe).get(self.metric)


@dataclass(frozen=True)
class ChildrenReader:
    """Counts the children of this process, those that nobody has waited for among them: without a look at each."""

    def __call__(self) -> float | None:
        """Return their number."""
        return float(len(list_children()))


def read_together(readers: Sequence[Reader]) -> list[float | None]:
    """Read several counters, a probe that gives more than one of them once."""
    probes = {id(reader.probe): reader.probe for reader in readers if isinstance(reader, CounterReader)}
    figures = {key: _read(probe) for key, probe in probes.items()}
    return [
        figures[id(reader.probe)].get(reader.metric) if isinstance(reader, CounterReader) else reader()
        for reader in readers
    ]


def _read(probe: Probe) -> Mapping[str, float]:
    try:
        return probe.read()
    except PhaseprofError:
        return {}
