"""Looks at the heap by place: when the warm-up is over, and while a counter rises; what grew is recorded by place."""

from __future__ import annotations

import gc
import math
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from phaseprof.diagnosis.charging import (
    PILE_OF_MODULES,
    Growth,
    Kept,
    Part,
    Waiting,
    bytes_of,
    charge,
    keeper_of_graphs,
    seen_once,
    waiting,
)  # fmt: skip
from phaseprof.diagnosis.heap_tree import HeapNode, heap_tree
from phaseprof.live import collector, suspicion
from phaseprof.live.budget import Budget
from phaseprof.live.closing import ClosingLook
from phaseprof.live.families import graph_nodes
from phaseprof.live.recorder import Recorder
from phaseprof.live.suspects import AT, Suspects
from phaseprof.native.extension import extension
from phaseprof.native.places import read_places, resolve
from phaseprof.native.table import FRAME, MODULE, NAMED, PathStep, PlaceTable, Root
from phaseprof.probes.categories import tensors_at
from phaseprof.probes.libraries import is_installed
from phaseprof.probes.shared_memory import OWN_MAPPINGS
from phaseprof.probes.tensors import loaded_torch, tensor_types
from phaseprof.probes.typeinfo import type_name
from phaseprof.recording import format as fmt

# What reading the heap takes for each block of Python's allocator, in nanoseconds, in C and in Python (55 to 90 ms for
# a million beside torch), and how many there are in a program of which that is not known.
_IN_C_NS, _IN_PYTHON_NS, _USUAL_HEAP = 80, 9_000, 500_000
# What reading the program's part of it takes, in C and in Python: 2 to 4 ms for 20,000 to 30,000 objects.
_PART_IN_C_NS, _PART_IN_PYTHON_NS, _EACH_IN_C_NS = 4_000_000, 80_000_000, 150
# Where that took longer, as on a busy machine, all of the heap takes longer by this part of it: 1.2 to 1.9 times as
# long where the program's took 1.6 to 3.4 times.  One look that took far longer tells no more.
_SLOWER, _SLOWEST = 0.4, 3.0
# Of the longest pause, the part after which a look ends that takes longer than expected: to put it away takes as long.
_LIMIT = 0.5
# What waits for the collector is no part of what the program reaches: only a look at all of the heap meets it.
_WEIGHING, _NOTHING_WAITS = "what waits for the collector", Waiting((), 0, 0, 0)
# To see what waits for the collector takes this part of what reading does; in a look that is compared, to charge what
# came takes that part, and finding the paths all of it.
_WAITING, _CHARGED = 0.1, 1.0
# Looks are made at distances that grow with the run, so that their number is small; so many are kept to compare with.
_NEXT, _KEPT = 2.0, 4
# Growth is told against the look nearest to this share of the run: later than what fills up once, and early enough.
_BASELINE = 0.33
# Growth at one place that is told, in bytes, and places that are.
_LEAST_BYTES, _MOST_PLACES, _MOST_ONCE = 1024, 12, 40
# The first look at all of the heap waits for the end of the warm-up, and for so much time of the program's own.
_FIRST_NS = 1_000_000_000
# By so much a look may overdraw while it is not known where memory goes; what comes after it waits for that.
_DEBT_NS = 20_000_000
# The first look may take so much of the share so far, whatever else was spent: without it, nothing that is seen at the
# end can be told to have grown.
_FIRST_PART = 0.4
# A look that takes no longer goes before all else that costs as much.
_CHEAP_NS = 60_000_000
# When a counter begins to rise, so many generations between two looks are enough.
_SOON = 3
# Of the objects that live for long, one in so many must be new for a full collection to come (CPython's own rule).
_FULL_AFTER = 4
# Under which name a look files the bytes that wait for the collector.
WAITING = "waiting_bytes"
# The same for the objects that gc.freeze() keeps from the collector: counting them takes time as a look does.
FROZEN = "gc/gc_frozen"
# Of what memory grew by, the part that places must have brought for it to be known where it went.
_EXPLAINED = 0.5
# Steps of one look are so far apart at most.
_MOST_APART_NS = 1_000_000_000
# Without a budget, a look in Python may take so long.
_MOST_NS = 500_000_000


@dataclass(frozen=True)
class _Look:
    generation: int
    table: Kept
    n_bytes: int
    n_objects: int


class _Looks:
    """The looks of one kind: at all of the heap, or at what the program's own modules and functions reach.

    Args:
        libraries: whether what libraries hold is looked at, and what is outside Python or unreachable.
        budget: knows what they took.
        n_blocks: how many blocks Python's allocator has given out, 0 where that is not known.
        part: the looks at the program's part of the heap, which tell how fast this machine is.
    """

    def __init__(
        self, *, libraries: bool, budget: Budget, n_blocks: Callable[[], int], part: _Looks | None = None
    ) -> None:
        self.libraries = libraries
        self._part = part
        self.kept: list[_Look] = []
        self._budget = budget
        self._n_blocks = n_blocks
        of = "" if libraries else " of the program"
        self._first_job = f"first look at places{of}" if of else "first look by place"
        self.reading, self.charging, self.finding_paths = f"places{of}", f"growth by place{of}", f"paths of places{of}"
        self._is_too_large = False

    @property
    def job(self) -> str:
        """Under which reading the next one is charged."""
        return self.reading if self.kept else self._first_job

    @property
    def newest(self) -> int:
        """The generation of the newest, -1 where there is none."""
        return self.kept[-1].generation if self.kept else -1

    def read_ns(self) -> int:
        """What reading the next one is expected to take."""
        is_in_c = extension() is not None
        if self.libraries:
            read_ns = (self._n_blocks() or _USUAL_HEAP) * (_IN_C_NS if is_in_c else _IN_PYTHON_NS)
            read_ns = round((1 + _SLOWER * self._slowness()) * read_ns)
        else:
            read_ns = _PART_IN_C_NS if is_in_c else _PART_IN_PYTHON_NS
        read_ns = self._budget.estimate_ns(self._first_job, read_ns)
        return self._budget.estimate_ns(self.reading, read_ns) if self.kept else read_ns

    def _slowness(self) -> float:
        """By how many times the newest look at the program's part took longer than such a one does; 0: by nothing."""
        part = self._part
        if part is None or not part.kept or extension() is None:
            return 0.0
        usual_ns = max(_PART_IN_C_NS, _EACH_IN_C_NS * part.kept[-1].n_objects)
        return min(_SLOWEST, max(0.0, part.read_ns() / usual_ns - 1))

    def _steps_ns(self) -> dict[str, int]:
        """What each step of the next one is expected to take, by job: the first is only read."""
        read_ns = self.read_ns()
        if not self.kept:
            return {self.job: read_ns} | ({_WEIGHING: round(_WAITING * read_ns)} if self.libraries else {})
        return {
            self.reading: read_ns,
            self.charging: self._budget.estimate_ns(self.charging, round(_CHARGED * read_ns)),
            self.finding_paths: self._budget.estimate_ns(self.finding_paths, read_ns),
        }

    def cost_ns(self) -> int:
        """What the next one is expected to take in all."""
        return sum(self._steps_ns().values())

    def fits_a_pause(self) -> bool:
        """Whether all steps of the next one may be made at once."""
        return self.cost_ns() <= self._budget.max_pause_ns

    def is_too_slow(self) -> bool:
        """Whether a step of the next one is expected to make too long a pause."""
        most_ns = min(self._budget.max_pause_ns, math.inf if extension() is not None else _MOST_NS)
        return self._is_too_large or max(self._steps_ns().values()) > most_ns

    def leave_out(self) -> None:
        """Say which steps would be too long; they are tried again some time, since the machine may have been busy."""
        for job, cost_ns in self._steps_ns().items():
            self._budget.is_short(cost_ns, job)

    def has_room(self, *, is_explained: bool) -> bool:
        """Whether the budget has room; while it is not known where memory goes, the whole share so far counts."""
        cost_ns = self.cost_ns()
        if not self.kept and self.read_ns() <= _FIRST_PART * (self._budget.share or math.inf) * self._budget.wall_ns:
            return True
        room_ns = self._budget.room_ns()
        return cost_ns <= (room_ns if is_explained else max(room_ns, self._budget.whole_room_ns() + _DEBT_NS))

    def is_worth(self, generation: int, *, is_urgent: bool, begins: bool) -> bool:
        """Whether another one would tell something new."""
        since = generation - self.newest
        return (begins and since >= _SOON) or (is_urgent and generation >= _NEXT * self.newest + 2)

    def before(self, generation: int) -> _Look:
        """Return the one that a look now is compared with."""
        return min(self.kept, key=lambda look: abs(look.generation - _BASELINE * generation))

    def limit_s(self) -> float | None:
        """After how many seconds a look in the loop ends: how large the program's part of the heap is, is a guess."""
        most_ns = self._budget.max_pause_ns
        return None if self.libraries or most_ns == math.inf else _LIMIT * most_ns / 1e9

    def give_up(self) -> None:
        """Leave it to the end, since one took longer than a pause may."""
        self._is_too_large = True
        self._budget.left_ns[self.job] = int(self._budget.max_pause_ns)

    def keep(self, generation: int, table: PlaceTable) -> None:
        """Keep the numbers of a table; the oldest stay, and the newest: distances grow with the run."""
        n_bytes, n_objects = int(table.own_bytes.sum()), int(table.n_objects.sum())
        self.kept.append(_Look(generation, Kept(table), n_bytes, n_objects))
        OWN_MAPPINGS.add(self.kept[-1].table.address)
        if len(self.kept) > _KEPT:
            OWN_MAPPINGS.discard(self.kept.pop(1).table.address)

    def forget(self) -> None:
        """Forget all tables."""
        OWN_MAPPINGS.difference_update([look.table.address for look in self.kept])
        self.kept.clear()


class PlaceWatch:
    """Reads the heap by place, within the budget, and records what grew.

    Within a bounded budget what the program's own modules and functions reach is looked at in the loop: beside large
    libraries that takes a tenth of the time and less.  All of the heap is looked at where that makes no long pause and
    the other looks have not said where memory goes, and at the end.

    Args:
        recorder: takes the records.
        budget: admits each look.
        suspects: know whether memory in use rises by enough.

    Attributes:
        grown: what came at each place by the newest look that was compared, the heaviest first; by the one before it
            where that has shown where memory goes, and this one, at a part of the heap, does not.
        grown_libraries: whether that look was at all of the heap.
        rises: whether memory in use rises by enough; else what grows comes with descriptors, threads or processes.
        is_explained: whether that look showed where memory goes.
    """

    def __init__(self, recorder: Recorder, budget: Budget, suspects: Suspects) -> None:
        self._recorder = recorder
        self._budget = budget
        self._suspects = suspects
        self._part = _Looks(libraries=False, budget=budget, n_blocks=suspects.n_blocks)
        self._whole = _Looks(libraries=True, budget=budget, n_blocks=suspects.n_blocks, part=self._part)
        self.rises = self._was_worth = self.is_explained = self._has_compared = False
        self._open: tuple[Iterator[str], str] | None = None  # a look of which steps are left, and the next of them
        self._goes_on_at = 0
        self._tells_less = False  # than one at all of the heap before it, the newest look, which was at a part
        self.grown: dict[int, fmt.Place] = {}
        self.grown_libraries = True

    @property
    def has_looked(self) -> bool:
        """Whether there is a look that another could be compared with."""
        return bool(self._whole.kept or self._part.kept)

    @property
    def leaves_unexplained(self) -> bool:
        """Whether memory rises, and two looks were compared which do not say where it goes."""
        return self.rises and self._has_compared and not self.is_explained

    @property
    def sees_nothing(self) -> bool:
        """Whether two looks were compared which do not say where it goes, and one at all of the heap is too slow."""
        return self._has_compared and not self.is_explained and self._whole.is_too_slow()

    @property
    def is_waited_for(self) -> bool:
        """Whether a look is due and lacks room: what is left of the budget is kept for it."""
        if self._budget.share is None or self._budget.wall_ns < _FIRST_NS:
            return False  # a short run has no time to wait
        return self.comes_first or any(not looks.kept and not looks.is_too_slow() for looks in self._wanted())

    @property
    def comes_first(self) -> bool:
        """Whether memory rises, and no two looks at what the program reaches were compared, which would be cheap."""
        if self._budget.share is None or self._budget.wall_ns < _FIRST_NS or self._has_compared or not self.rises:
            return False
        return not self._part.is_too_slow() and self._part.cost_ns() <= _CHEAP_NS

    def at_generation_end(self, generation: int) -> None:
        """Look, if it is time to and the budget has room; or make the next step of a look that was begun."""
        if self._open is not None:
            if self._budget.clock() >= self._goes_on_at:
                self._make_a_step()
            return
        self.rises = self._suspects.is_urgent()
        is_worth = self.rises or self._suspects.are_more()
        for looks in self._wanted():
            is_known = self.is_explained or self._tells_less
            if self._is_due(looks, generation, is_worth=is_worth) and looks.has_room(is_explained=is_known):
                self._begin(looks, generation)
                break  # one pause at a time
        self._was_worth = is_worth

    def _begin(self, looks: _Looks, generation: int) -> None:
        fits_a_pause = looks.fits_a_pause()
        self._open = self._steps(looks, generation), looks.job
        self._make_a_step()
        while fits_a_pause and self._open is not None:
            self._make_a_step()

    def _make_a_step(self) -> None:
        if self._open is None:
            return
        steps, job = self._open
        self._open = None
        with self._budget.spending(job):
            following = collector.without_collections(lambda: next(steps, None))
        if following is not None:
            # The program runs for as long as it may have waited.
            apart_ns = min(self._budget.max_pause_ns, _MOST_APART_NS)
            self._open, self._goes_on_at = (steps, following), int(self._budget.clock() + apart_ns)

    def finish(self, generation: int, time: ClosingLook) -> None:
        """Make the last look; without one to compare it with it tells where the heap lies.  Charged by the caller.

        Args:
            generation: the last one.
            time: says what there is time for; if not for the whole heap, there may be some for the program's part.
        """
        while self._open is not None and generation <= max(self._part.newest, self._whole.newest):
            self._make_a_step()
        self._open = None
        part, is_whole = self._part, time.admits("places", self._whole.cost_ns())
        if part.kept and generation > part.newest and (is_whole or part.cost_ns() / 1e9 <= time.left_s):
            self._look_at_the_end(part, generation)
        if is_whole:
            self._finish_whole(generation)

    def _finish_whole(self, generation: int) -> None:
        whole = self._whole
        if len(whole.kept) == 1 and whole.newest == generation:
            whole.forget()  # there is nothing to compare with yet, so this one is recorded as seen once
        if generation > whole.newest:
            self._look_at_the_end(whole, generation)
            if self._suspects.is_urgent() and loaded_torch() is not None:  # what bare nodes take, no place shows
                self._recorder.add(fmt.Metrics(self._budget.clock(), generation, graph_nodes(), AT))

    def abandon(self) -> None:
        """Forget all tables."""
        self._open = None
        self._whole.forget()
        self._part.forget()

    def look_ns(self, *, libraries: bool) -> int:
        """What one walk over all of the heap, or the program's part of it, is expected to take."""
        return (self._whole if libraries else self._part).read_ns()

    def _wanted(self) -> list[_Looks]:
        """The kinds of looks that are made in the loop, the cheaper first."""
        return [self._part] if self.is_explained and self._whole.kept else [self._part, self._whole]

    def _is_due(self, looks: _Looks, generation: int, *, is_worth: bool) -> bool:
        if looks.kept:
            is_time = looks.is_worth(generation, is_urgent=is_worth, begins=is_worth and not self._was_worth)
        else:
            is_early = looks is self._whole and self._budget.share is not None and self._budget.wall_ns < _FIRST_NS
            is_time = generation >= suspicion.WARM_UP and not is_early
        if is_time and looks.is_too_slow():
            looks.leave_out()
            return False
        return is_time

    def _look_at_the_end(self, looks: _Looks, generation: int) -> None:
        collector.without_collections(lambda: deque(self._steps(looks, generation, is_last=True), maxlen=0))

    def _steps(self, looks: _Looks, generation: int, *, is_last: bool = False) -> Iterator[str]:
        """Read the heap, and tell what grew since an earlier look, step by step; each yields the job of the next."""
        try:
            table = read_places(libraries=looks.libraries, limit_s=None if is_last else looks.limit_s())
        except MemoryError:
            self._recorder.note("there was too little memory left for a look at the heap by place")
            looks.give_up()
            return
        if table.partial:
            looks.give_up()
            return
        figures = {FROZEN: float(gc.get_freeze_count())}
        before = looks.before(generation) if looks.kept else None
        if not is_last:
            looks.keep(generation, table)
        waits, is_first = _NOTHING_WAITS, before is None and not is_last
        if looks.libraries or not is_first:
            yield _WEIGHING if is_first else looks.charging
        if looks.libraries:
            waits = waiting(table)
            figures |= {WAITING: float(waits.n_bytes), "arrays_bytes": float(bytes_of(table, "numpy.ndarray"))}
        self._recorder.add(fmt.Metrics(self._budget.clock(), generation, figures, AT))
        if is_first:
            return
        grown = self._charge(looks, table, before)
        nodes = heap_tree(None if before is None else before.table, table)
        yield looks.finding_paths
        self._record(grown, nodes, table, waits, generation, looks, before)

    def _charge(self, looks: _Looks, table: PlaceTable, before: _Look | None) -> Sequence[Growth]:
        """Return where that lies which came since an earlier look; without one, where most lies."""
        if before is None:
            there = charge(seen_once(table), table, least_bytes=_LEAST_BYTES, most=_MOST_ONCE)
            return _without_libraries(there, table, self._suspects.allocated_since(0))
        grown = charge(
            before.table, table, least_bytes=_LEAST_BYTES, most=_MOST_PLACES, is_own=lambda name: not is_installed(name)
        )
        self._has_compared = True
        came = sum(growth.n_bytes for growth in grown)
        explains = came >= _EXPLAINED * self._suspects.allocated_since(before.generation)
        self._tells_less = not explains and not looks.libraries and (self.is_explained or self._tells_less)
        self.is_explained = explains
        return grown

    def _record(
        self,
        grown: Sequence[Growth],
        nodes: Sequence[HeapNode],
        table: PlaceTable,
        waits: Waiting,
        generation: int,
        looks: _Looks,
        before: _Look | None,
    ) -> None:
        keeper = keeper_of_graphs(table)
        named = {growth.place for growth in grown} | {node.place for node in nodes[1:]} - table.roots.keys()
        steps = resolve(named if keeper is None else named | {keeper}, libraries=looks.libraries)
        steps[PILE_OF_MODULES] = _path_of_modules()
        rows = [_row(growth, steps.get(growth.place, ())) for growth in grown]
        held = [] if self._recorder.read_devices is None else _tensors_in(grown, libraries=looks.libraries)
        is_news = before is not None and not self._tells_less
        if is_news:
            self.grown = {growth.place: row for growth, row in zip(grown, rows, strict=True)}
            self.grown_libraries = looks.libraries
        if keeper is not None and keeper in steps:
            n_graphs = int(table.n_graph[table.place == keeper].sum())
            rows.append(fmt.Place(in_words(steps[keeper]), "torch.Tensor", n_graphs, 0, n_graphs, [], []))
            if is_news:
                self.grown.setdefault(keeper, rows[-1])
        heap = [_node(node, table.roots.get(node.place), steps.get(node.place, ())) for node in nodes]
        since, was_bytes = (generation, 0) if before is None else (before.generation, before.n_bytes)
        came = int(table.own_bytes.sum()) - was_bytes
        when = collected_at(int(table.n_objects.sum()), is_enabled=collector.is_enabled())
        self._recorder.add(fmt.Places(
            self._budget.clock(), generation, since, came, rows, heap, _parts(waits.parts), waits.n_rings,
            waits.n_objects, waits.n_bytes, when, looks.libraries, held,
        ))  # fmt: skip


def _tensors_in(grown: Sequence[Growth], *, libraries: bool) -> list[fmt.TensorsAt]:
    """What tensors lie at places to which tensors came, by their positions among the rows."""
    family = {type_name(cls) for cls in tensor_types()}
    at = {
        growth.place: row for row, growth in enumerate(grown)
        if growth.type_name in family or any(part.type_name in family for part in growth.inside)
    }  # fmt: skip
    found = tensors_at(at, libraries=libraries) if at else []
    return [fmt.TensorsAt(at[one.place], one.device, one.category, one.n_storages, one.n_bytes) for one in found]


def collected_at(n_objects: int, *, is_enabled: bool) -> int:
    """Return how many objects must wait for the collector to come by itself; -1 where it is switched off.

    A full collection comes when what lives for long has grown by a quarter since the last one, and by as many as the
    thresholds of all generations come to.

    Args:
        n_objects: on the heap.
        is_enabled: whether the collector runs.
    """
    young, *older = gc.get_threshold()
    if not is_enabled or not young:
        return -1
    return max(n_objects // _FULL_AFTER, young * math.prod(max(1, one) for one in older))


def _node(node: HeapNode, root: Root | None, steps: Sequence[PathStep]) -> fmt.HeapPlace:
    # Without its length: places of two looks are compared by their names.
    name = step_in_words(steps[-1]._replace(length=-1)) if steps else node.type_name
    name = root_in_words(root) if root is not None else name
    return fmt.HeapPlace(node.parent, name, node.n_objects, node.n_bytes, node.came_bytes)


def _path_of_modules() -> tuple[PathStep, ...]:
    """The path to ``sys.modules``, which a walk does not take: each module is a root."""
    return PathStep(MODULE, "root", "sys"), PathStep("dict", "attribute", "modules", length=len(sys.modules))


def _row(growth: Growth, steps: Sequence[PathStep]) -> fmt.Place:
    bound, length = bound_of_path(steps)
    if steps and steps[-1].again and any(part.type_name == growth.type_name for part in growth.direct[:1]):
        steps = *steps, PathStep(growth.type_name, "attribute", steps[-1].again)  # a chain
    return fmt.Place(
        in_words(steps), growth.type_name, growth.n_places, growth.n_bytes, growth.n_graph, _parts(growth.direct),
        _parts(growth.inside), bound, length,
    )  # fmt: skip


def _without_libraries(there: Sequence[Growth], table: PlaceTable, grown: float) -> list[Growth]:
    """Leave out libraries' tables of their own types, which are there from the import on.

    Types whose package is no module are theirs as well, as those that pybind11 makes.  A place that holds most of what
    memory has grown by stays: it holds what the program gave the library, such as files of a file system in memory.

    Args:
        there: places of one look.
        table: the look.
        grown: the bytes by which memory has grown since the first generation.
    """
    parents = dict(zip(table.place.tolist(), table.parent.tolist(), strict=True))

    def is_of_library(growth: Growth) -> bool:
        place = growth.place
        while parents.get(place):
            place = parents[place]
        root = table.roots.get(place)
        if root is None or root.kind != MODULE or not is_installed(root.name):
            return False
        if growth.n_bytes >= _EXPLAINED * grown > 0:
            return False
        names = [part.type_name for part in (*growth.direct, *growth.inside)]
        return all(is_installed(name) or name.partition(".")[0] not in sys.modules for name in names)

    return [growth for growth in there if not is_of_library(growth)]


def bound_of_path(steps: Sequence[PathStep]) -> tuple[int, int]:
    """Capacity and length of the container that a path ends at, or of what keeps its items in that; -1 for none.

    An item that grows in a container, full or not, has no bound; nor has what holds more than the bound of its owner
    allows, which is then that of something else.

    Example: 3,000 requests wait in the list of a resource with a capacity of 12.
    """
    ends = [step for step in steps[-1:] if step.bound > 0]
    if not ends and len(steps) > 1 and steps[-1].via not in ("item", "key"):
        ends = [step for step in steps[-2:-1] if step.bound > 0 and steps[-1].length <= step.bound]
    return (ends[0].bound, ends[0].length) if ends else (-1, -1)


def _parts(parts: Sequence[Part]) -> list[tuple[str, int, int]]:
    return [(part.type_name, part.n_objects, part.n_bytes) for part in parts]


def in_words(steps: Sequence[PathStep]) -> list[str]:
    """Put a path into words, one text a step, as holders are told.

    Example: ``["module __main__.trainer (Trainer)", ".losses (list, 82)"]``.
    """
    if not steps:
        return []
    root, rest = steps[0], steps[1:]
    first = root_in_words(Root(root.type, root.name))
    if root.type in (MODULE, FRAME) and rest and rest[0].via in ("attribute", "local"):
        joint = "." if root.type == MODULE else " "
        first, rest = f"{first}{joint}{rest[0].name} ({_what(rest[0])})", rest[1:]
    return [first, *map(step_in_words, rest)]


def root_in_words(root: Root) -> str:
    """Name where a path begins, as ``module app`` or ``train.py main() local``."""
    return {MODULE: f"module {root.name}", FRAME: f"{root.name} local", NAMED: root.name}.get(root.kind, root.kind)


def step_in_words(step: PathStep) -> str:
    """Name one step of a path, as ``.losses (list)``."""
    return f"{_link(step)} ({_what(step)})".strip()


def _link(step: PathStep) -> str:
    if step.via == "attribute" or step.via == "local":
        return f".{step.name}"
    if step.via == "key":
        return f"['{step.name}']" if step.name else "[...]"
    return "[...]" if step.via == "item" else ""


def _what(step: PathStep) -> str:
    short = step.type.rpartition(".")[2]
    if step.label:
        return f"{'class' if short == 'type' else short} {step.label.rpartition('.')[2]}"
    return f"{short}, {step.length:,}" if step.length >= 0 else short
