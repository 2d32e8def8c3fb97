"""Weights & Biases: which keys are logged, when, and that a tracker that is down ends no run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import phaseprof as pp
from phaseprof import Profiler
from phaseprof.errors import MissingExtra, PhaseprofWarning, UsageError
from phaseprof.integrations import wandb as integration

ROOT = Path(__file__).resolve().parents[2]
needs_wandb = pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="make integrations installs wandb")


class Logged:
    """A run that keeps what it is given."""

    def __init__(self) -> None:
        self.rows: list[tuple[dict[str, float], int | None]] = []

    def log(self, data: dict[str, float], step: int | None = None) -> None:
        self.rows.append((data, step))


def rollouts(profiler: Profiler, n: int) -> None:
    experience: list[bytearray] = []
    profiler.track("experience", lambda: experience)
    for epoch in range(n):
        with profiler.generation(epoch, items=64), profiler.phase("rollout"):
            experience.append(bytearray(2_000_000))


def test_the_names_and_units_are_those_of_trainers() -> None:
    profiler = Profiler(budget=None)
    rollouts(profiler, 4)

    figures = integration.scalars(profiler)
    profiler.close()

    assert figures["memory/experience/size_mb"] == pytest.approx(8, rel=0.01)
    assert figures["memory/experience/growth_mb_per_epoch"] == pytest.approx(2, rel=0.01)
    assert figures["system/process_memory_MB"] > 5
    assert figures["train/sps"] > 0


def test_one_call_logs_at_the_end_of_each_generation() -> None:
    profiler, run = Profiler(budget=None), Logged()

    integration.watch(run, profiler=profiler)
    rollouts(profiler, 3)
    profiler.close()

    sizes = [round(row["memory/experience/size_mb"]) for row, _ in run.rows]
    assert sizes == [2, 4, 6]


def test_every_so_many_generations() -> None:
    profiler, run = Profiler(budget=None), Logged()

    integration.watch(run, profiler=profiler, every=5)
    rollouts(profiler, 12)
    profiler.close()

    assert len(run.rows) == 2


def test_a_step_of_ones_own() -> None:
    profiler, run = Profiler(budget=None), Logged()
    rollouts(profiler, 1)

    integration.log(run, profiler=profiler, step=5120)
    profiler.close()

    assert run.rows[0][1] == 5120


def test_a_tracker_that_is_down_ends_no_run() -> None:
    class Down:
        def log(self, data: dict[str, float], step: int | None = None) -> None:
            raise ConnectionError("no route")

    profiler = Profiler(budget=None)
    integration.watch(Down(), profiler=profiler)

    with pytest.warns(PhaseprofWarning, match="an integration failed: ConnectionError: no route"):
        rollouts(profiler, 2)
    profiler.close()


def test_it_can_be_reached_from_the_package() -> None:
    assert pp.integrations.wandb is integration  # type: ignore[attr-defined]


@pytest.mark.skipif(importlib.util.find_spec("wandb") is not None, reason="wandb is here")
def test_without_the_package_the_extra_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"phaseprof\[wandb\]"):
        integration.log()


@needs_wandb
def test_without_a_run_the_next_step_is_named() -> None:
    with pytest.raises(UsageError, match=r"call wandb\.init"):
        integration.log()


OFFLINE = """
import phaseprof as pp, wandb
run = wandb.init(mode="offline", project="p", dir=".")
pp.configure(budget=None)
pp.integrations.wandb.watch()
experience = []
pp.track("experience", lambda: experience)
for epoch in range(4):
    with pp.generation(epoch, items=64), pp.profile_phase("rollout"):
        experience.append(bytearray(2_000_000))
print({key: run.summary[key] for key in run.summary.keys() if not key.startswith("_")})
run.finish()
"""


@needs_wandb
def test_an_offline_run_of_the_real_package_holds_the_keys(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "WANDB_SILENT": "true"}

    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    for key in ("memory/experience/size_mb", "memory/experience/growth_mb_per_epoch", "train/sps"):
        assert key in done.stdout
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
