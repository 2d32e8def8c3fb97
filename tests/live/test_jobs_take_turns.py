"""Between generations, under a budget: which job goes first when not all fit."""

from __future__ import annotations

from collections import Counter

import pytest

from phaseprof.live.budget import CREDIT_NS, LATER, PAID_OFF_NS, PLANNED, STEADY
from phaseprof.live.inspector import USUAL_HEAP, Inspector, first_cost
from phaseprof.live.scopes import GenerationScope
from phaseprof.live.session import Session
from phaseprof.live.settings import Settings

COST_NS = {"tracked": 20_000_000, "watched": 28_000_000, "types": 67_000_000}
TURN_NS = 400_000_000


class Bench:
    """A session on a clock of its own, whose jobs between generations take what ``COST_NS`` says and do nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        self.n_done: Counter[str] = Counter()
        monkeypatch.setattr(Inspector, "run_job", lambda _, job, generation: self._do(job))
        monkeypatch.setattr(Inspector, "read_counters", lambda *_: None)
        self.session = Session(Settings(), clock=lambda: self.now)
        self.session.watch(Bench, 1)
        self.session.tracked.add("bench", lambda: None)

    def _do(self, job: str) -> list[object]:
        self.n_done[job] += 1
        self.now += COST_NS[job]
        return []

    def turns(self, n: int) -> None:
        for _ in range(n):
            with GenerationScope(self.session, None, None):
                self.now += TURN_NS


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_a_dear_job_is_not_starved_by_cheap_ones(bench: Bench) -> None:
    bench.turns(600)

    assert bench.n_done["types"] >= 3
    assert min(bench.n_done[job] for job in ("watched", "tracked")) >= 12
    bench.session.close()


def test_what_waits_is_reported_as_put_off(bench: Bench) -> None:
    bench.turns(100)

    skipped = bench.session.budget.skipped
    n_due = {"watched": 100, "tracked": 100}
    assert {job: skipped[job] + bench.n_done[job] for job in n_due} == pytest.approx(n_due, abs=bench.n_done["types"])
    bench.session.close()


def test_together_they_keep_to_the_share(bench: Bench) -> None:
    bench.turns(600)

    spent = sum(n * COST_NS[job] for job, n in bench.n_done.items())
    first_of_each = sum(COST_NS[job] for job in bench.n_done)  # until then only a guess says what it costs
    earned = PLANNED * 0.02 * (STEADY * bench.now + (LATER - STEADY) * max(0, bench.now - PAID_OFF_NS))
    assert bench.now > PAID_OFF_NS
    assert spent <= CREDIT_NS + earned + first_of_each
    assert spent >= 0.9 * earned
    bench.session.close()


def test_a_census_that_was_never_made_waits_for_what_a_heap_costs(bench: Bench) -> None:
    """Nothing is known of the heap: the usual one is assumed."""
    bench.session.tracked.getters.clear()
    bench.session.watches.entries.clear()
    while not bench.n_done:
        bench.turns(1)

    assert bench.now * PLANNED * 0.02 * STEADY + CREDIT_NS >= first_cost()["types"] * USUAL_HEAP
    assert bench.n_done == {"types": 1}
    bench.session.close()


class SlowProbe:
    """Takes what a slow probe takes on the clock of a bench."""

    def __init__(self, bench: Bench, name: str, figures: dict[str, float]) -> None:
        self.bench, self.name, self.figures, self.n_read = bench, name, figures, 0

    def read(self) -> dict[str, float]:
        self.n_read += 1
        self.bench.now += 3_000_000
        return {metric: rate * self.n_read for metric, rate in self.figures.items()}

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(("turn_s", "rate", "least", "most"), [
    (3.0, 0.0, 12, 15),
    (0.5, 0.0, 20, 40),
    (0.5, 1.0, 80, 200),  # and at boundaries, since it rises
    (0.01, 0.0, 1, 4),
])  # fmt: skip
def test_what_takes_milliseconds_is_read_as_often_as_its_part_pays_for(
    monkeypatch: pytest.MonkeyPatch, turn_s: float, rate: float, least: int, most: int
) -> None:
    read_counters = Inspector.read_counters
    bench = Bench(monkeypatch)
    monkeypatch.setattr(Inspector, "read_counters", read_counters)
    monkeypatch.setattr("test_jobs_take_turns.TURN_NS", int(turn_s * 1e9))
    probe = SlowProbe(bench, "shared memory", {"shm_segments": rate})
    bench.session.inspector._probes[:] = [probe]
    bench.session.watches.entries.clear()
    bench.session.tracked.getters.clear()

    bench.turns(20 if turn_s > 1 else 200)

    assert least <= probe.n_read <= most
    bench.session.close()
