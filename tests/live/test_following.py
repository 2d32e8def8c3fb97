"""What is followed from boundary to boundary: which visits are recorded, and to whom changes are charged."""

from __future__ import annotations

from typing import Any, cast

import pytest

from phaseprof.live.budget import Budget
from phaseprof.live.escalation import Escalation
from phaseprof.live.following import FOLLOWED_VISITS, Following, owner_of
from phaseprof.live.investigation import Investigation
from phaseprof.live.ledger import UNSEEN
from phaseprof.live.visits import FULL_DETAIL, Pace, Visit, Visited
from phaseprof.recording import format as fmt

SECOND, READING_NS = 10**9, 100_000


class NoLines:
    """Nothing is traced."""

    is_tracing = False

    def begin(self) -> None: ...

    def end(self) -> None: ...


class Bench:
    """A loop of three phases, the second with steps inside it, and a counter that takes 0.1 ms to read."""

    looks_at_boundaries = False
    lines = NoLines()

    def __init__(self) -> None:
        self.now, self.value, self.generation = 0, 0.0, -1
        self.records: list[fmt.Record] = []
        self.pace = Pace(0.02, lambda: self.now)
        self.pace.n_points = FULL_DETAIL  # visits are gathered, though there is room
        self.now = 100 * SECOND
        self.budget = Budget(0.02, lambda: self.now)
        self.escalation = Escalation(self.budget, self.records.append, lambda: self.now)
        labels = {name: Visited(name, "phase") for name in ("collect", "train", "evolve")}
        self.steps = Visited("step", "block")
        self.steps.is_inner = True
        self.labels = {"phase": labels, "block": {"step": self.steps}, "checkpoint": {}}
        for label in (*labels.values(), self.steps):
            label.number, label.due = 1, SECOND**2  # visits are gathered
        self.following = Following(cast("Any", self), self.labels, self.pace, lambda: self.now)
        self.escalation.start(Investigation("malloc_in_use_bytes", "malloc", -1, counter=self.read))

    def read(self) -> float:
        self.now += READING_NS
        return self.value

    def at_boundary(self, owner: str | None, *, is_outermost: bool = True) -> None:
        self.escalation.at_boundary(owner, self.generation, is_outermost=is_outermost)

    def visit(self, label: Visited, added: float, around: Visit | None = None) -> None:
        is_recorded = self.now >= label.due and self.pace.admits(label, self.now, 4)
        if is_recorded:
            self.pace.n_points += 2
            self.following.at_boundary(owner_of(around), is_outermost=around is None)
        else:
            label.count()
        self.value += added
        if label.name == "train":
            for _ in range(self.n_steps):
                self.visit(self.steps, 50.0, (object(), around, label, is_recorded))
            self.value -= 50.0 * self.n_steps
        if is_recorded:
            self.following.at_boundary(label.name, is_outermost=around is None)

    def turn(self, n_steps: int, seconds: float = 1) -> None:
        self.n_steps = n_steps
        self.generation += 1
        self.now += int(seconds * SECOND)
        self.following.begin(self.generation)
        for name, added in (("collect", 90.0), ("train", 10.0), ("evolve", -90.0)):
            self.visit(self.labels["phase"][name], added)
        self.following.end(None)
        self.escalation.at_generation_end(self.generation)

    @property
    def births(self) -> dict[str, float]:
        found = [record for record in self.records if isinstance(record, fmt.Births)]
        return {phase: change for phase, (change, _) in found[-1].phases.items()} if found else {}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_visits_that_would_only_be_counted_are_recorded_while_a_counter_is_followed(bench: Bench) -> None:
    for _ in range(6):
        bench.turn(n_steps=3)

    n = next(record.after for record in bench.records if isinstance(record, fmt.Births))
    assert (bench.births["collect"], bench.births["evolve"]) == (90.0 * n, -90.0 * n)
    assert bench.births["train"] + bench.births["step"] == 10.0 * n
    assert bench.births["step"] >= 150.0 * (n - 1), "what a reading takes is known from the first generation on"


def test_where_all_boundaries_take_too_long_the_outermost_phases_are_followed(bench: Bench) -> None:
    for _ in range(8):
        bench.turn(n_steps=60, seconds=0.1)

    n = next(record.after for record in bench.records if isinstance(record, fmt.Births))
    assert bench.births == {"collect": 90.0 * n, "train": 10.0 * n, "evolve": -90.0 * n}


def test_where_boundaries_have_taken_too_much_visits_stay_gathered(bench: Bench) -> None:
    bench.pace.n_points = 10 * FULL_DETAIL
    bench.turn(n_steps=3)

    assert all(label.due == SECOND**2 for label in bench.labels["phase"].values())


def test_visits_are_gathered_again_when_nothing_is_followed(bench: Bench) -> None:
    for _ in range(10):
        bench.turn(n_steps=3)
    bench.turn(n_steps=3, seconds=60)

    assert not bench.escalation.open
    assert all(label.due > bench.now for label in bench.labels["phase"].values())


def test_so_many_visits_of_a_label_are_recorded_and_the_rest_gathered(bench: Bench) -> None:
    label = bench.labels["phase"]["collect"]
    bench.now += SECOND
    bench.generation = 0
    bench.following.begin(0)

    admitted = [bench.now >= label.due and bench.pace.admits(label, bench.now, 4) for _ in range(FOLLOWED_VISITS + 9)]

    assert all(admitted[:FOLLOWED_VISITS])
    assert not all(admitted)


def test_inside_a_visit_that_was_only_counted_the_time_is_nobodys() -> None:
    counted = (object(), None, Visited("collect", "phase"), False)

    assert owner_of(None) is None
    assert owner_of(counted) == UNSEEN
    assert owner_of((object(), counted, Visited("step", "block"), True)) == "step"
