"""Seed 003: losses kept with their autograd graphs, the repair, and what a healthy run looks like."""

from __future__ import annotations

import gc
import random

import pytest
from seed_programs import generations, run_on_device

from phaseprof import Profiler
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.naming import advise
from phaseprof.records import Finding
from phaseprof.units import format_bytes

torch = pytest.importorskip("torch")
AGENTS, STEPS = 4, 6


class ERLTrainer:
    """Trains a few critics; what it keeps of each loss is up to ``keep``."""

    def __init__(self) -> None:
        self.critic = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        self.actor_losses: list[object] = []
        self.replay: list[object] = []

    def train_population(self, *, fixed: bool = False) -> None:
        """Make losses and keep them: with their graphs, or as numbers."""
        for _ in range(AGENTS * STEPS):
            loss = self.critic(torch.randn(16, 32)).pow(2).mean()
            self.actor_losses.append(loss.detach().cpu().item() if fixed else loss)


@pytest.fixture(scope="module")
def found() -> tuple[Finding, ...]:
    """The findings of a run that keeps its losses, beside a replay buffer that filled long ago."""
    trainer, profiler = ERLTrainer(), Profiler(budget=None)
    fill = lambda turn: trainer.replay.append(torch.zeros(2000)) if len(trainer.replay) < 5 else None  # noqa: E731
    generations(
        profiler, range(14), items=AGENTS * STEPS, evaluate_population=fill,
        train_population=lambda _: trainer.train_population(), evolve_population=lambda _: gc.collect(),
    )  # fmt: skip
    findings = profiler.findings()
    profiler.close()
    return findings


def test_003_01_losses_that_are_kept_with_their_graphs(found: tuple[Finding, ...]) -> None:
    assert (found[0].verdict, found[0].kind, found[0].phase) == ("leak", "autograd graph", "train_population")
    assert any("actor_losses" in step for step in found[0].holder)


def test_003_02_a_full_replay_buffer_beside_it_is_nobodys_leak(found: tuple[Finding, ...]) -> None:
    assert not any("replay" in step for finding in found for step in finding.holder)


def test_003_03_the_advice_names_the_attribute(found: tuple[Finding, ...]) -> None:
    assert "actor_losses" in found[0].advice
    assert ".detach()" in advise("autograd graph", "Tensor", found[0].holder)


def test_003_04_the_repair_is_clean() -> None:
    trainer, profiler = ERLTrainer(), Profiler(budget=None)
    generations(profiler, range(14), train_population=lambda _: trainer.train_population(fixed=True))
    found = profiler.findings()
    profiler.close()

    assert list(found) == []
    assert len(trainer.actor_losses) == 14 * AGENTS * STEPS


def test_003_05_the_time_until_memory_runs_out(found: tuple[Finding, ...]) -> None:
    assert found[0].eta_s is not None
    assert "memory runs out in about" in found[0].summary


def test_003_06_a_collection_in_each_generation_hides_nothing(found: tuple[Finding, ...]) -> None:
    """The fixture's loop collects at the end of each: what is kept is reachable, so that none of it ever goes."""
    values = found[0].evidence[0].values

    assert found[0].verdict == "leak"
    assert len(values) >= 6 and values[-1] > values[0]


def test_003_07_bytes_held_by_the_graphs(found: tuple[Finding, ...]) -> None:
    assert found[0].bytes_slope > 0
    assert f": +{format_bytes(found[0].bytes_slope)} a generation" in found[0].summary


def test_003_08_generations_that_take_longer_are_told() -> None:
    slower = [0.9 + 0.03 * g for g in range(30)]

    assert "slowdown" in {f.verdict for f in find_leaks(run_on_device([2048.0] * 30, seconds=slower))}


def test_003_09_a_run_that_stabilises_is_healthy() -> None:
    rng = random.Random(3)
    settled = [min(600.0 + 400 * g, 2048.0) for g in range(30)]

    found = find_leaks(run_on_device(settled, seconds=[1.0 + rng.gauss(0, 0.01) for _ in range(30)]))

    assert "leak" not in {f.verdict for f in found}
