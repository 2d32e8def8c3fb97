"""What can be followed from birth to death: families of things with an identity, and counters without one.

A family reads the identities that live now; objects are looked at and dropped within one call.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple, Protocol

from phaseprof.errors import PhaseprofError
from phaseprof.live.handles import ContainerHandle
from phaseprof.native import looking
from phaseprof.native.looking import Action
from phaseprof.probes import autograd, heap, tensors
from phaseprof.probes.census import collected_instances
from phaseprof.probes.held import held_where_needed
from phaseprof.probes.own import is_own_type, own_ids, own_tally
from phaseprof.probes.protocol import Probe
from phaseprof.probes.typeids import made_by_looks_in_c, sift, without
from phaseprof.probes.typeinfo import all_classes, hashes_plainly, type_name
from phaseprof.probes.uninterrupted import uninterrupted

# Nodes followed behind all tensors together, and behind one where tensors are only compared.
MOST_NODES, NODES_EACH = 50_000, 200


class Family(Protocol):
    """One kind of thing whose living members can be told apart by a number."""

    key: str
    subject: str
    has_young: bool
    may_grow: bool  # one member may be the whole leak: it grows, or is replaced by a larger one

    def identities(self, view: HeapView) -> dict[int, int]:
        """Return identity -> bytes of what lives now (0 bytes for plain objects)."""

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return at most ``most`` living members by identity, newest last; the caller drops the list."""


class HeapView:
    """One look at the heap that several families share: complete, or the collector's young generations only.

    Use as a context manager: what it holds is dropped at the end.
    """

    def __init__(self, families: Iterable[Family], *, young: bool) -> None:
        self.young = young
        self._types = [cls for family in families if isinstance(family, TypeFamily) for cls in family.live_classes()]
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

    def tensors(self) -> list[object]:
        """The tensors that have a Python object."""
        return collected_instances(tensors.tensor_types(), young=self.young)


class TypeFamily:
    """The instances of one type (of all types of one name), the type itself held weakly."""

    has_young = True
    may_grow = False

    def __init__(self, key: str, classes: Iterable[type]) -> None:
        self.key = key
        self._classes = [weakref.ref(cls) for cls in classes]
        self.subject = key.rpartition("/")[2].rpartition(".")[2]

    def live_classes(self) -> list[type]:
        """The types that still exist."""
        return [cls for ref in self._classes if (cls := ref()) is not None]

    def identities(self, view: HeapView) -> dict[int, int]:
        """Return the id of each instance, with 0 bytes."""
        return dict.fromkeys(map(id, view.instances(self.live_classes())), 0)

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return the newest of the wanted instances."""
        return [o for o in view.instances(self.live_classes()) if id(o) in wanted][-most:]


class StorageFamily:
    """Torch storages that some tensor with a Python object shows, by the storage's address."""

    key = "storages"
    subject = "Tensor"
    has_young = True
    may_grow = False

    def identities(self, view: HeapView) -> dict[int, int]:
        """Return the address and bytes of each storage."""
        seen = view.tensors()
        try:
            return {address: size for address, (size, _) in tensors.storages_of(seen).items()}  # type: ignore[arg-type]
        finally:
            seen.clear()

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return tensors on the wanted storages, one a storage."""
        found: dict[int, object] = {}
        for tensor in reversed(view.tensors()):
            for address in tensors.storages_of([tensor]):  # type: ignore[list-item]
                if address in wanted:
                    found.setdefault(address, tensor)
            if len(found) >= most:
                break
        return list(reversed(found.values()))


class ContainerFamily:
    """One builtin container that grows; what is followed is its length, not its members."""

    def __init__(self, key: str, subject: str, identity: int) -> None:
        self.key = key
        self.subject = subject
        self.identity = identity
        self._handle: ContainerHandle | None = None

    @property
    def is_found(self) -> bool:
        """Whether the container was looked for already, so that its length takes no pass over the heap."""
        return self._handle is not None

    def length(self, *, costly: bool) -> float | None:
        """Return how many items it holds; ``None`` once it is gone, or if that would take a pass over the heap."""
        if self._handle is None:
            found = self.pick(1)
            if not found:
                return None
            self._handle = ContainerHandle(found.pop())
        if not costly and not self._handle.is_cheap:
            return None
        return self._handle.length()

    def pick(self, most: int) -> list[object]:
        """Return the container itself, if it still lives; the caller drops the list."""
        found = self._handle.find() if self._handle is not None else None
        return heap.container_of(self.identity)[:most] if found is None else [found]


class GraphFamily:
    """Tensors that carry an autograd graph, by id; their bytes are nodes of the graph behind them, capped."""

    key = "graph"
    subject = "Tensor"
    has_young = False
    may_grow = True

    def identities(self, view: HeapView) -> dict[int, int]:
        """Return the id of each such tensor with the number of nodes behind it."""
        found = graph_tensors()
        try:
            sizes = autograd.graph_sizes(found, max_nodes=NODES_EACH)  # type: ignore[arg-type]
            return {id(tensor): size for tensor, size in zip(found, sizes, strict=True)}
        finally:
            found.clear()

    def pick(self, view: HeapView, wanted: Collection[int], most: int) -> list[object]:
        """Return the wanted tensors with the most nodes behind them, the largest last."""
        found = [t for t in graph_tensors() if id(t) in wanted]
        nodes = autograd.graph_sizes(found, max_nodes=NODES_EACH)  # type: ignore[arg-type]
        order = sorted(range(len(found)), key=nodes.__getitem__)
        return [found[i] for i in order[-most:]]


def graph_tensors(most: int = 20_000) -> list[object]:
    """Return live tensors that carry a graph, newest last; the caller drops the list."""
    return list(tensors.tensors_with_graph()[-most:])


@uninterrupted
def graph_nodes() -> dict[str, float]:
    """Count the autograd nodes behind live tensors, each once.

    Saved tensors are not read here: that would give each a Python object for as long as the graph lives.

    Cost: a pass over the heap, and 1 µs a node, at most ``MOST_NODES``.
    """
    found = graph_tensors()
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
    """Metrics of tensors (none where torch is not loaded), instances by exact type, containers as a walk lists them."""

    figures: dict[str, float]
    counts: dict[type, int]
    containers: dict[int, tuple[str, int, int]]


@held_where_needed
def census_figures(containers_from: int | None = None) -> Census:
    """Count tracked objects by exact type, and in the same pass the storages and graphs of the tensors among them.

    Args:
        containers_from: list the builtin containers among them of at least this length, too.

    Returns:
        What was counted; the caller drops the counts, whose keys are types.
    Cost: 25 ns an object in C, in Python 100 and 100 more for containers; 1.5 µs a tensor and 1 µs a graph node.
    """
    figures: dict[str, float] = {}
    torch = tensors.loaded_torch()
    ours = own_tally()
    tally, seen, listed = _sifted(containers_from)
    try:
        if torch is not None:
            figures.update(_tensor_figures(seen, torch))
        counts = {cls: n - ours.get(cls, 0) for cls, n in tally if hashes_plainly(type(cls)) and not is_own_type(cls)}
        return Census(figures, counts, listed)
    finally:
        seen.clear()


def _sifted(
    containers_from: int | None,
) -> tuple[list[tuple[type, int]], list[object], dict[int, tuple[str, int, int]]]:
    """Count tracked objects by exact type, and return the tensors among them and the long containers."""
    wanted: dict[Action, Sequence[type]] = {Action.HAND_OUT: tensors.tensor_types()}
    if containers_from is not None:
        wanted[Action.RECORD | Action.HAS_LENGTH] = heap.CONTAINERS
    found = looking.look(wanted, skip=own_ids(), is_deep=False, min_length=containers_from or 0)
    if found is not None:
        return without(found.tally, made_by_looks_in_c()), found.handed, heap.recorded_containers(found)
    tally, (seen, containers) = sift(
        gc.get_objects, tensors.tensor_types(), heap.CONTAINERS if containers_from is not None else ()
    )
    try:
        return tally, seen, {} if containers_from is None else heap.long_containers(containers, containers_from)
    finally:
        containers.clear()


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


def classes_by_name(names: Collection[str]) -> dict[str, list[type]]:
    """Find types by qualified name; the caller drops the result.

    Cost: nothing for classes that their module shows under their name; else 0.3 µs for each class that there is.
    """
    found = {name: [cls] for name in names if (cls := _importable(name)) is not None}
    missing = set(names) - found.keys()
    if missing:
        for cls in all_classes():
            name = type_name(cls)
            if name in missing:
                found.setdefault(name, []).append(cls)
    return found


def _importable(name: str) -> type | None:
    """Return the class that a module shows under a qualified name, if it bears that name itself."""
    parts = name.split(".") if "." in name else ["builtins", name]
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if type(module) is not ModuleType:
            continue
        place: object = vars(module)
        for part in parts[cut:]:
            space = place if type(place) is dict else type.__getattribute__(place, "__dict__")
            place = space.get(part)
            if not issubclass(type(place), type):
                return None
        return place if type_name(place) == name else None  # type: ignore[arg-type,return-value]
    return None


Reader = Callable[[], float | None]


@dataclass(frozen=True)
class CounterReader:
    """Reads one counter of a probe; an object of our own type, where a closure would count as the program's."""

    probe: Probe
    metric: str

    def __call__(self) -> float | None:
        """Return the reading; ``None`` where the probe fails."""
        return _read(self.probe).get(self.metric)


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
