"""From series that look suspicious to investigations: what deserves a closer look, and in which order."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping

from phaseprof.live import buffers, families, suspicion
from phaseprof.live.budget import Budget
from phaseprof.live.containers import ContainerWatch
from phaseprof.live.escalation import Escalation
from phaseprof.live.investigation import Investigation
from phaseprof.live.recorder import Recorder
from phaseprof.probes.census import watched_counts
from phaseprof.probes.protocol import Probe
from phaseprof.probes.typeinfo import all_classes, type_name
from phaseprof.recording import format as fmt
from phaseprof.recording.series import Series
from phaseprof.records import COMPANIONS, UNIT_BYTES
from phaseprof.verdict.levels import comes_with

AT = "generation end"
# Series that may point at a leak, and the least rise a generation that is worth a look.
LEAST = {"_bytes": 256.0, "python_blocks": 8.0, "_count": 0.1}
# The exact counters of the allocators, and the rise a generation at which a leak is worth some haste; of generations
# that are shorter than so many seconds, the rise in that time.
ALLOCATORS = {"malloc_in_use_bytes": 16_384.0, "python_blocks": 100.0}
TURN_S = 0.5
NATIVE = ("malloc_in_use_bytes", "python_blocks", "descriptors", "threads", "children", "children_private_bytes",
          "children_grown_bytes", "shm_bytes", "shm_resident_bytes", "shm_segments", "shm_user_segments",
          "graph_nodes")  # fmt: skip
# Resident pages of shared segments.
PAGES = "shm_resident_bytes"
# Counters of things that objects come with, and the kind of their findings.
COUNTED = {"children": "children", "threads": "threads", "shm_segments": "shared memory", "descriptors": "descriptors"}
# What children must take more than at first to be read more often.
CHILDREN_BYTES = 1 << 20
# Families that are looked at together, of types and of containers.
MOST_TYPES, MOST_CONTAINERS = 8, 4
# Containers of which series are kept.
MOST_TOLD = 64
# Allocator blocks that go with a tracked object in code and classes.
BLOCKS_EACH = 2.2
# In haste, items a container must have gained.
MANY_ITEMS = 8


class Suspects:
    """Looks through the series of a recording and starts investigations.

    Args:
        recorder: whose model holds the series.
        escalation: runs the investigations.
        sources: the probe that reads a counter, by metric; filled as counters are read.
        clock: nanoseconds.
    """

    def __init__(
        self, recorder: Recorder, escalation: Escalation, sources: Mapping[str, Probe], budget: Budget
    ) -> None:
        self._recorder = recorder
        self._escalation = escalation
        self._sources = sources
        self._budget = budget
        self._clock, self._began = budget.clock, budget.clock()
        self.containers = ContainerWatch()
        self._containers_told: dict[str, tuple[int, bool]] = {}  # by key: id, and whether a census may not see it

    def series(self, metric: str) -> Series | None:
        """Return a series read at the end of generations."""
        return self._recorder.model.series.get((AT, metric))

    def n_objects(self) -> int:
        """How many objects the collector tracks, as counted or as the allocator's blocks suggest; 0 if not known."""
        counted, blocks = self.series("n_objects"), self.series("python_blocks")
        if counted is not None:
            return int(counted.last)
        return 0 if blocks is None else int(blocks.last / BLOCKS_EACH)

    def n_blocks(self) -> int:
        """How many blocks Python's allocator has given out; 0 if not known."""
        blocks = self.series("python_blocks")
        return 0 if blocks is None else int(blocks.last)

    def allocated_since(self, generation: int) -> float:
        """By how many bytes what the allocators have given out has grown since a generation."""
        return sum(unit * _growth(self.series(metric), generation) for metric, unit in UNIT_BYTES.items())

    def is_rising(self) -> bool:
        """Whether the exact counters of the allocators rise."""
        return any(map(self.rises, ALLOCATORS))

    def rises(self, metric: str) -> bool:
        """Whether a series read at the end of generations rises."""
        return suspicion.rise(self.series(metric)) > 0

    def children_rise(self) -> bool:
        """Whether the memory of child processes has risen by what would be felt, or was read only once."""
        series = self.series("children_private_bytes")
        return series is not None and (len(series) < 2 or series.last >= series.values[0] + CHILDREN_BYTES)

    def is_urgent(self) -> bool:
        """Whether they rise by enough, and have not stopped: a buffer that is full is no reason for haste."""
        part = min(1.0, self._seconds_each() / TURN_S)
        return any(
            suspicion.rises_still(self.series(metric), part * least + self._own_growth(metric))
            for metric, least in ALLOCATORS.items()
        )

    def is_any(self) -> bool:
        """Whether something may leak as far as the counters tell; without a bound, nothing is lost by asking."""
        return self._budget.share is None or self.is_urgent() or any(map(self.rises, COUNTED))

    def _seconds_each(self) -> float:
        """How long a generation has taken so far, on average."""
        return (self._clock() - self._began) / 1e9 / max(1, self._recorder.generation + 1)

    def look(self, generation: int, *, readings: int = suspicion.LEAST_READINGS) -> None:
        """Start an investigation of everything that looks suspicious and is not looked at already.

        Args:
            generation: ordinal of the current one.
            readings: how many a series must have; two are enough where the allocators' counters rise as well.
        """
        ends = [(metric, series) for (at, metric), series in self._recorder.model.series.items() if at == AT]
        found = suspicion.candidates(ends, LEAST, readings=readings)
        self._suspect_types([c for c in found if c.metric.startswith("count/")], generation, readings)
        for candidate in found:
            self._suspect_other(candidate, generation)
        self._suspect_containers(generation, readings)

    def look_at_companions(self, generation: int) -> None:
        """Start the types that come with a counter of children, threads or the like, where about as many are there.

        Args:
            generation: ordinal of the current one.
        """
        grown = {kind: rise for metric, kind in COUNTED.items() if (rise := self._risen(metric)) > 0}
        names = {name: rise for kind, rise in grown.items() for name in COMPANIONS[kind]}
        self._start_companions(generation, names, comes_with)

    def _start_companions(
        self, generation: int, names: Mapping[str, float], fits: Callable[[float, float], bool]
    ) -> None:
        """Start types by name, of which there are as many as fits a rise; a pass over the heap, charged as such."""
        with self._budget.spending("companions"):
            self._count_companions(generation, names, fits)

    def _count_companions(
        self, generation: int, names: Mapping[str, float], fits: Callable[[float, float], bool]
    ) -> None:
        classes = {cls: type_name(cls) for cls in all_classes() if names and type_name(cls).rpartition(".")[2] in names}
        counts = watched_counts(list(classes)) if classes else {}
        try:
            for cls, count in counts.items():
                if fits(names[classes[cls].rpartition(".")[2]], count):
                    family = families.TypeFamily(f"count/{classes[cls]}", [cls])
                    self._start_if_wanted(Investigation(family.key, family.subject, generation, family))
        finally:
            classes.clear()
            counts.clear()

    def _risen(self, metric: str) -> float:
        """By how much a counter that rises has risen; 0 if it does not."""
        series = self.series(metric)
        return 0.0 if series is None or suspicion.rise(series) <= 0 else series.last - series.values[0]

    def _own_growth(self, metric: str) -> float:
        """What a generation's readings add to a counter: each is a number that Python's allocator holds."""
        model = self._recorder.model
        return len(model.series) + len(model.charges) if metric == "python_blocks" else 0.0

    def _start_if_wanted(self, suspect: Investigation) -> None:
        if self._escalation.wants(suspect.key, suspect.began):
            self._escalation.start(suspect)

    def _suspect_types(self, found: list[suspicion.Candidate], generation: int, readings: int) -> None:
        wanted = [c for c in found if self._escalation.wants(c.metric, generation)]
        if not wanted:
            return
        telling = [c for c in wanted if not c.metric.endswith(suspicion.GRAPH_NODE_ENDINGS)]
        if readings < suspicion.LEAST_READINGS:  # too little to tell a library's functions and dicts from a leak
            telling = [c for c in telling if suspicion.type_tier(c.metric) < suspicion.PLUMBING_TIER]
        ranked = sorted(telling, key=lambda c: (suspicion.type_tier(c.metric), -c.per_generation))[:MOST_TYPES]
        classes = families.classes_by_name({c.metric.removeprefix("count/") for c in ranked})
        try:
            for candidate in ranked:
                own_types = classes.get(candidate.metric.removeprefix("count/"))
                if own_types:
                    family = families.TypeFamily(candidate.metric, own_types)
                    rate = candidate.per_generation
                    self._escalation.start(Investigation(family.key, family.subject, generation, family, rate=rate))
        finally:
            classes.clear()

    def _suspect_other(self, candidate: suspicion.Candidate, generation: int) -> None:
        metric = candidate.metric
        family: families.Family | None = None
        if metric.startswith("storages/") and metric.endswith("_bytes"):
            family = families.StorageFamily()
        elif metric == "arrays_bytes":
            family = buffers.ArrayFamily()
        elif metric == "graph_nodes":
            family = families.GraphFamily()
        elif metric.startswith("untracked/") and metric.endswith("_bytes"):
            if _growth(self.series(metric), suspicion.WARM_UP) < buffers.BufferFamily.LEAST_BYTES:
                return  # following it takes a walk at each boundary, which would not show any that is as small
            family = buffers.BufferFamily(metric.removeprefix("untracked/").removesuffix("_bytes"))
        if family is not None:
            rate = candidate.per_generation if metric.endswith("_bytes") else 0.0
            self._start_if_wanted(Investigation(family.key, family.subject, generation, family, rate=rate))
            return
        if metric in NATIVE and self._escalation.wants(metric, generation):
            if metric == PAGES:  # whoever reads a page touches it: what keeps it says more
                self._start_companions(generation, dict.fromkeys(COMPANIONS["shared memory"], generation), operator.le)
            reader = self.reader_of(metric)
            if reader is not None:
                self._escalation.start(Investigation(metric, metric, generation, counter=reader))

    def reader_of(self, metric: str) -> families.Reader | None:
        """Return what reads a counter now; ``None`` if no probe gives it."""
        probe = self._sources.get(metric)
        return None if probe is None else families.CounterReader(probe, metric)

    def _suspect_containers(self, generation: int, readings: int) -> None:
        in_haste = readings < suspicion.LEAST_READINGS
        for identity, grown in self.containers.steadiest(MOST_CONTAINERS, least_walks=readings):
            if grown.history[-1][1] - grown.history[0][1] < (MANY_ITEMS if in_haste else 1):
                continue
            kind = grown.kind.rpartition(".")[2]
            key = _container_key(kind, identity)
            if key not in self._containers_told and len(self._containers_told) < MOST_TOLD:
                self._containers_told[key] = (identity, grown.may_hide)
                for at, length in grown.history[:-1]:
                    self._record(at, {key: float(length)})
            family = families.ContainerFamily(key, kind, identity)
            self._start_if_wanted(Investigation(key, kind, generation, container=family))
        if self.containers.at == generation and self._containers_told:
            # Also of those that grow no more, shrank or are gone: a series that only ever rose would be a leak's.
            lengths = {
                key: self.containers.length_of(identity, may_hide=may_hide)
                for key, (identity, may_hide) in self._containers_told.items()
            }
            self._record(generation, {key: float(length) for key, length in lengths.items() if length is not None})

    def _record(self, generation: int, figures: dict[str, float]) -> None:
        self._recorder.add(fmt.Metrics(self._clock(), generation, figures, AT))


def _growth(series: Series | None, since: int) -> float:
    """By how much a series has grown since the first reading of a generation or a later one."""
    if series is None or not len(series):
        return 0.0
    at = min(bisect_left(series.generations, since), len(series.values) - 1)
    return series.last - series.values[at]


def _container_key(kind: str, identity: int) -> str:
    return f"container/{kind}@{identity:x}"
