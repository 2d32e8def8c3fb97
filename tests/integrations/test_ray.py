"""Ray on this machine: actors, loops of Ray Train and algorithms of RLlib record where they run, unedited."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import load_run

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="make integrations installs ray"),
]
START = """
import logging, sys, time
import numpy as np
import ray
LEAKS, kept = sys.argv[1] == "leaky", []

def keep():
    time.sleep(0.05)
    batch = np.ones(250_000)
    if LEAKS:
        kept.append(batch)
"""
INIT = "ray.init(num_cpus=2, logging_level=logging.ERROR, include_dashboard=False, object_store_memory=10**8{more})\n"
ACTORS = """
@ray.remote
class Collector:
    def __init__(self, leaks):
        self.leaks, self.seen = leaks, []

    def collect(self, n):
        batch = np.ones(250_000)
        time.sleep(0.05)
        if self.leaks:
            self.seen.append(batch)
        return float(batch.sum()) + n

actors = [Collector.remote(False), Collector.remote(LEAKS)]
print("RESULT", sum(sum(ray.get([one.collect.remote(n) for one in actors])) for n in range(80)))
ray.shutdown()
"""
TRAIN = """
import ray.train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

def loop(config):
    kept = []
    for epoch in range(16):
        batch = np.ones(250_000)
        time.sleep(0.1)
        if config["leaks"]:
            kept.append(batch)
        ray.train.report({"loss": float(epoch)})

folders = ray.train.RunConfig(storage_path=sys.argv[2], name="training")
workers = ray.train.ScalingConfig(num_workers=1)
trainer = DataParallelTrainer(loop, train_loop_config={"leaks": LEAKS}, scaling_config=workers, run_config=folders)
print("RESULT", trainer.fit().metrics)
ray.shutdown()
"""
RLLIB = """
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback

class Keeps(RLlibCallback):
    def on_train_result(self, **kwargs):
        keep()

config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0).debugging(seed=3)
config = config.training(train_batch_size=200, minibatch_size=100, num_epochs=1).callbacks({callbacks})
algorithm = config.build_algo()
for _ in range(24):
    result = algorithm.train()
print("RESULT", result["env_runners"]["num_env_steps_sampled_lifetime"])
algorithm.stop()
ray.shutdown()
"""


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "RAY_TRAIN_V2_ENABLED": "1",
        # What holds the leak is asked here, and not whether a busy machine leaves time to see it.
        "PHASEPROF_BUDGET": "0.3", "PHASEPROF_MAX_PAUSE": "10", "PHASEPROF_MAX_LOOK": "30",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )


def record(folder: Path, program: str, *arguments: str, edited: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program, under ``phaseprof run`` unless it names phaseprof itself, and check what it recorded."""
    (folder / "train.py").write_text(program)
    words = () if edited else ("-m", "phaseprof", "run", "--out", "run")
    done = call(folder, *words, "train.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert "RESULT" in done.stdout
    return call(folder, "-m", "phaseprof", "check", "run")


def with_phase(folder: Path, phase: str) -> list[ProcessRun]:
    return [process for process in load_run(folder / "run").processes if phase in process.phases]


def test_of_two_actors_the_one_that_leaks_is_named_with_what_holds_it(tmp_path: Path) -> None:
    checked = record(tmp_path, START + INIT.format(more="") + ACTORS, "leaky")

    assert checked.returncode == 1
    lines = checked.stdout.splitlines()
    assert ": leak: Arrays" in lines[0]  # in which phase, few generations on a busy machine do not always tell
    assert sum(": leak: " in line for line in lines) == 1, checked.stdout  # what started it does not tell it, too
    assert any(".seen (list of" in line for line in lines)
    assert len(with_phase(tmp_path, "Collector.collect")) == 2
    report = call(tmp_path, "-m", "phaseprof", "report", "run").stdout
    assert report.index("leaks; no leak was found in the other") < report.index("Collector.collect")


def test_actors_that_keep_nothing_hear_nothing(tmp_path: Path) -> None:
    checked = record(tmp_path, START + INIT.format(more="") + ACTORS, "healthy")

    assert checked.returncode in (0, 3), checked.stdout


def test_a_program_may_say_itself_where_its_workers_record(tmp_path: Path) -> None:
    init = "import phaseprof as pp\n" + INIT.format(more=", runtime_env=pp.integrations.ray.runtime_env('run')")

    checked = record(tmp_path, START + init + ACTORS, "leaky", edited=True)

    assert checked.returncode == 1
    assert len(with_phase(tmp_path, "Collector.collect")) == 2


def test_an_environment_of_the_programs_own_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()

    record(tmp_path, START + INIT.format(more=", runtime_env={'working_dir': 'mine'}") + ACTORS, "healthy")

    assert with_phase(tmp_path, "Collector.collect") == []


def test_a_loop_of_ray_train_is_marked_in_its_worker(tmp_path: Path) -> None:
    checked = record(tmp_path, START + INIT.format(more="") + TRAIN, "leaky", str(tmp_path / "results"))

    (worker,) = with_phase(tmp_path, "report")
    assert "training" in worker.phases
    assert len(worker.generations) >= 16
    assert worker.header is not None
    assert checked.returncode == 1
    assert f"pid {worker.header.pid}: leak" in checked.stdout


@pytest.mark.parametrize("callbacks", ["Keeps", "[pp.integrations.rllib.Callback, Keeps]"])
def test_an_iteration_of_rllib_is_a_generation(tmp_path: Path, callbacks: str) -> None:
    if importlib.util.find_spec("tree") is None:
        pytest.skip("make integrations installs RLlib")
    imported = "import phaseprof as pp\n" if "pp." in callbacks else ""
    program = START + imported + INIT.format(more="") + RLLIB.format(callbacks=callbacks)

    checked = record(tmp_path, program, "leaky")

    (process,) = with_phase(tmp_path, "learn")
    assert {"collect", "learn", "callbacks"} <= set(process.phases)
    assert len([one for one in process.generations if not one.implied]) >= 6
    assert checked.returncode == 1
    assert "leak: Arrays" in checked.stdout
    assert "held by kept (list of" in checked.stdout
