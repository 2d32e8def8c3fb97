"""One battery for every framework: its callback marks what users call a generation, finds a leak, and changes nothing.

Each training runs once, in a process of its own (``trainings.py``), with the real package; where that is not installed
its tests are skipped.  ``make integrations`` installs all.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Framework to the phases of a generation, and the phase in which the trainings' own part runs.
PHASES = {
    "lightning": ({"training", "validation", "callbacks", "checkpoint"}, "callbacks"),
    "transformers": ({"training", "logging", "evaluation", "checkpoint"}, None),
    "accelerate": ({"training", "evaluation", "backward", "gathering"}, None),
    "stable_baselines3": ({"collect", "learn"}, "learn"),
    "keras": ({"training", "validation", "callbacks"}, "callbacks"),
    "optuna": ({"objective"}, "objective"),
    "skorch": ({"training", "validation", "callbacks"}, "callbacks"),
    "evotorch": ({"variation", "evaluation", "logging"}, "logging"),
    "deap": ({"selection", "variation", "evaluation"}, "evaluation"),
}
SAVES = {"lightning", "transformers", "accelerate", "stable_baselines3", "keras", "skorch"}
ROUNDS, FAILS_AT = 32, 5


@cache
def outcome_of(framework: str, folder: Path) -> dict[str, Any]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "torch", "ACCELERATE_USE_CPU": "true"}
    command = [sys.executable, str(Path(__file__).with_name("trainings.py")), framework, str(folder)]
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module", params=PHASES)
def framework(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"make integrations installs {name}")
    return name


@pytest.fixture(scope="module")
def outcome(framework: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return outcome_of(framework, tmp_path_factory.mktemp(framework))


def leaks(run: dict[str, Any]) -> list[list[str]]:
    return [found for found in run["findings"] if found[0] == "leak"]


def test_a_healthy_training_hears_nothing(outcome: dict[str, Any]) -> None:
    assert leaks(outcome["healthy"]) == []
    assert outcome["healthy"]["conclusion"].startswith("No leak found")


def test_a_leak_is_found(outcome: dict[str, Any]) -> None:
    assert leaks(outcome["leak"]), outcome["leak"]["conclusion"]


def test_the_leak_is_where_the_users_part_runs(framework: str, outcome: dict[str, Any]) -> None:
    phase = PHASES[framework][1]
    if phase is None:
        pytest.skip("it runs in no phase of its own")

    assert phase in [found[2] for found in leaks(outcome["leak"])]


def test_each_of_the_frameworks_rounds_is_a_generation(outcome: dict[str, Any]) -> None:
    *rounds, after = outcome["leak"]["generations"]

    assert after == "after"
    assert len(rounds) in (ROUNDS, ROUNDS + 1)  # one that is called at the end of a round has begun one more


def test_the_frameworks_steps_are_phases(framework: str, outcome: dict[str, Any]) -> None:
    assert PHASES[framework][0] <= set(outcome["leak"]["phases"])


def test_the_figures_of_each_generation_are_logged(outcome: dict[str, Any]) -> None:
    logged = outcome["leak"]["logged"]

    assert logged.count("system/process_memory_MB") >= ROUNDS


def test_training_is_the_same_to_the_bit(outcome: dict[str, Any]) -> None:
    assert outcome["plain"]["state"]
    assert outcome["healthy"]["state"] == outcome["leak"]["state"] == outcome["plain"]["state"]


def test_no_checkpoint_knows_of_us(framework: str, outcome: dict[str, Any]) -> None:
    assert outcome["healthy"]["files"] > 0 or framework not in SAVES
    assert [name for run in ("healthy", "leak", "failed") for name in outcome[run]["written"]] == []


def test_an_exception_in_the_training_goes_through_and_is_unwound(outcome: dict[str, Any]) -> None:
    failed = outcome["failed"]

    assert failed["error"] == "LookupError('planned')"
    assert failed["rounds"] == FAILS_AT
    # What the exception left open is over: the next generation counts, outside of every phase of the training.
    assert failed["generations"][-1] == "after"


def test_a_callback_that_fails_warns_once_and_the_training_is_the_same(outcome: dict[str, Any]) -> None:
    assert len(outcome["broken"]["warnings"]) == 1
    assert "a callback failed" in outcome["broken"]["warnings"][0]
    assert outcome["broken"]["state"] == outcome["plain"]["state"]
