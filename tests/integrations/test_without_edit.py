"""``phaseprof run`` puts a callback in when the program imports a framework: not a line of the program is changed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaseprof.recording.reader import load_run

ROOT = Path(__file__).resolve().parents[2]
# Framework to a phase that only its callback marks, and what is said of a generation.
KNOWN = {
    "lightning": ("training", "Lightning: an epoch"),
    "transformers": ("training", "Transformers: an epoch"),
    "accelerate": ("backward", "Accelerate: a pass"),
    "stable_baselines3": ("collect", "Stable-Baselines3: a rollout"),
    "keras": ("training", "Keras: an epoch"),
    "optuna": ("objective", "Optuna: a trial"),
    "skorch": ("training", "skorch: an epoch"),
    "evotorch": ("evaluation", "EvoTorch: a step"),
    "deap": ("selection", "DEAP: each round"),
}
SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import trainings
print("state", trainings.do(trainings.TRAININGS[{name!r}], trainings.Run(Path("."), is_marked=False, pause_s=0.06)))
"""


@pytest.mark.parametrize("name", KNOWN)
def test_the_callback_is_put_in_and_changes_nothing(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"make integrations installs {name}")
    phase, said = KNOWN[name]
    (tmp_path / "train.py").write_text(SCRIPT.format(folder=str(Path(__file__).parent), name=name))
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "torch", "ACCELERATE_USE_CPU": "true"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words, "train.py"], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = run("-m", "phaseprof", "run", "--out", "run")

    process = load_run(tmp_path / "run").main
    assert phase in process.phases
    # Under the default budget most of 32 short generations are only counted where steps are many; six make a verdict.
    assert len([one for one in process.generations if not one.implied]) >= 6
    assert f"{said}" in printed
    states = [line for line in printed.splitlines() + run().splitlines() if line.startswith("state ")]
    assert len(states) == 2
    assert states[0] == states[1]
