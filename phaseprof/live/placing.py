"""Looks at the heap by place: when the warm-up is over, and while memory rises; what grew is recorded by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.diagnosis.charging import Growth, Kept, Part, charge
from phaseprof.diagnosis.heap_tree import HeapNode, heap_tree
from phaseprof.live import suspicion
from phaseprof.live.budget import Budget
from phaseprof.live.recorder import Recorder
from phaseprof.live.suspects import Suspects
from phaseprof.native.extension import extension
from phaseprof.native.places import read_places, resolve
from phaseprof.native.table import FRAME, MODULE, NAMED, PathStep, PlaceTable, Root
from phaseprof.recording import format as fmt

# What a look takes for each object that the collector tracks, in nanoseconds, in C and in Python: two walks, one for
# the numbers and one for the paths, and twice what they take for each object met.  The first look is one walk: 35 ms
# for 180,000 objects beside torch.
_IN_C_NS, _IN_PYTHON_NS, _USUAL_HEAP = 800, 20_000, 200_000
_FIRST_IN_C_NS = 250
# Looks are made at distances that grow with the run, so that their number is small; so many are kept to compare with.
_NEXT, _KEPT = 1.5, 4
# Growth is told against the look nearest to this share of the run: later than what fills up once, and early enough.
_BASELINE = 0.33
# Growth at one place that is told, in bytes, and places that are.
_LEAST_BYTES, _MOST_PLACES = 4096, 12
_JOB = "places"
# Of what is left of the budget, the part that a look may take: a census and a search for holders come first.
_PART = 0.25
# Without a budget, a look in Python may take so long.
_MOST_NS = 500_000_000


@dataclass(frozen=True)
class _Look:
    generation: int
    table: Kept
    n_bytes: int


class PlaceWatch:
    """Reads the heap by place, within the budget, and records what grew.

    Args:
        recorder: takes the records.
        budget: admits each look.
        suspects: know whether memory in use rises by enough.
    """

    def __init__(self, recorder: Recorder, budget: Budget, suspects: Suspects) -> None:
        self._recorder = recorder
        self._budget = budget
        self._suspects = suspects
        self._looks: list[_Look] = []

    def at_generation_end(self, generation: int) -> None:
        """Look, if it is time to and the budget has room."""
        cost_ns = self._budget.estimate_ns(_JOB, self.cost_ns())
        if self._is_due(generation) and cost_ns <= _PART * self._budget.room_ns():
            with self._budget.spending(_JOB):
                self._look(generation)

    def finish(self, generation: int) -> None:
        """Make the last look; without one to compare it with it tells where the heap lies.  Charged by the caller."""
        if not self._looks:
            self._tell_heap(generation)
        elif generation > self._looks[-1].generation:
            self._look(generation)

    def abandon(self) -> None:
        """Forget all tables."""
        self._looks.clear()

    def _is_due(self, generation: int) -> bool:
        if extension() is None and self.cost_ns() > _MOST_NS:
            return False
        if not self._looks:
            return generation >= suspicion.WARM_UP
        return generation >= _NEXT * self._looks[-1].generation + 2 and self._suspects.is_urgent()

    def cost_ns(self) -> int:
        """What a look is expected to take, as long as none was measured."""
        in_c_ns = _IN_C_NS if self._looks else _FIRST_IN_C_NS
        return (self._suspects.n_objects() or _USUAL_HEAP) * (_IN_PYTHON_NS if extension() is None else in_c_ns)

    def _look(self, generation: int) -> None:
        table = read_places()
        if table.partial:
            return
        if self._looks:
            before = min(self._looks, key=lambda look: abs(look.generation - _BASELINE * generation))
            self._tell(before, table, generation)
        self._looks.append(_Look(generation, Kept(table), int(table.own_bytes.sum())))
        if len(self._looks) > _KEPT:
            del self._looks[1]  # the oldest stays, and the newest: distances grow with the run

    def _tell(self, before: _Look, table: PlaceTable, generation: int) -> None:
        grown = charge(before.table, table, least_bytes=_LEAST_BYTES, most=_MOST_PLACES)
        nodes = heap_tree(before.table, table)
        steps = resolve({growth.place for growth in grown} | {node.place for node in nodes[1:]} - table.roots.keys())
        n_bytes = int(table.own_bytes.sum()) - before.n_bytes
        rows = [_row(growth, in_words(steps.get(growth.place, ()))) for growth in grown]
        heap = [_node(node, table.roots.get(node.place), steps.get(node.place, ())) for node in nodes]
        self._recorder.add(fmt.Places(self._budget.clock(), generation, before.generation, n_bytes, rows, heap))

    def _tell_heap(self, generation: int) -> None:
        """Record where the heap lies now; there is nothing to say of what came."""
        table = read_places()
        if table.partial or generation < 0:
            return
        nodes = heap_tree(None, table)
        steps = resolve({node.place for node in nodes[1:]} - table.roots.keys())
        heap = [_node(node, table.roots.get(node.place), steps.get(node.place, ())) for node in nodes]
        self._recorder.add(fmt.Places(self._budget.clock(), generation, generation, 0, [], heap))


def _node(node: HeapNode, root: Root | None, steps: Sequence[PathStep]) -> fmt.HeapPlace:
    name = root_in_words(root) if root is not None else step_in_words(steps[-1]) if steps else node.type_name
    return fmt.HeapPlace(node.parent, name, node.n_objects, node.n_bytes, node.came_bytes)


def _row(growth: Growth, steps: list[str]) -> fmt.Place:
    return fmt.Place(
        steps, growth.type_name, growth.n_places, growth.n_bytes, growth.n_graph, _parts(growth.direct),
        _parts(growth.inside),
    )  # fmt: skip


def _parts(parts: Sequence[Part]) -> list[tuple[str, int, int]]:
    return [(part.type_name, part.n_objects, part.n_bytes) for part in parts]


def in_words(steps: Sequence[PathStep]) -> list[str]:
    """Put a path into words, one text a step, as holders are told.

    Example: ``["module __main__.trainer (Trainer)", ".losses (list)"]``.
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
    return f"{'class' if short == 'type' else short} {step.label.rpartition('.')[2]}" if step.label else short
