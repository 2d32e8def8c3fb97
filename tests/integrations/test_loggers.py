"""Trackers of experiments: one line, the same keys in each, and the findings as text and table at the end.

What every tracker does is tested on CSV, which needs no package; of the others, that the real package holds it.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import phaseprof as pp
from phaseprof import Profiler
from phaseprof.errors import PhaseprofWarning, UsageError
from phaseprof.integrations import csv as csv_log

KEYS = {"memory/experience/size_mb", "memory/experience/growth_mb_per_epoch", "system/process_memory_MB", "train/sps"}
ROOT = Path(__file__).resolve().parents[2]
# What a package deprecates is no error of ours.
others_warn = pytest.mark.filterwarnings("default")
needs_all = pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="make integrations runs it")


class Environment:
    """Two of them live where one was expected: a finding that needs no long run."""


def rollouts(profiler: Profiler, n: int = 3) -> list[object]:
    experience: list[object] = [Environment(), Environment()]
    profiler.watch(Environment, expected=1)
    profiler.track("experience", lambda: experience)
    for epoch in range(n):
        with profiler.generation(epoch, items=64), profiler.phase("rollout"):
            experience.append(bytearray(2_000_000))
    return experience


@pytest.fixture
def profiler() -> Profiler:
    """With the default budget, so that the size of a package's heap does not slow it down."""
    return Profiler()


@pytest.fixture
def unbounded() -> Profiler:
    """One that sizes what is tracked in each generation, however short."""
    return Profiler(budget=None)


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_rows_come_at_the_end_of_each_generation(unbounded: Profiler, tmp_path: Path) -> None:
    pp.integrations.csv.watch(tmp_path / "memory.csv", profiler=unbounded)  # type: ignore[attr-defined]
    rollouts(unbounded, 3)
    rows = rows_of(tmp_path / "memory.csv")
    unbounded.close()

    assert {row["metric"] for row in rows} == KEYS
    sizes = [(row["step"], round(float(row["value"]))) for row in rows if row["metric"] == "memory/experience/size_mb"]
    assert sizes == [("0", 2), ("1", 4), ("2", 6)]


def test_findings_follow_as_a_table_and_a_text(profiler: Profiler, tmp_path: Path) -> None:
    csv_log.watch(tmp_path / "memory.csv", profiler=profiler)
    kept = rollouts(profiler)
    profiler.close()

    found = rows_of(tmp_path / "memory.findings.csv")
    assert [(row["verdict"], row["subject"]) for row in found] == [("expectation", "Environment")]
    assert "EXPECTATION" in (tmp_path / "memory.findings.txt").read_text()
    assert kept


def test_what_is_logged_is_what_is_asked_for(profiler: Profiler, tmp_path: Path) -> None:
    csv_log.watch(tmp_path / "memory.csv", profiler=profiler)
    kept = rollouts(profiler)

    findings = profiler.findings()
    profiler.close()

    logged = rows_of(tmp_path / "memory.findings.csv")
    assert [row["summary"] for row in logged] == [finding.summary for finding in findings]
    assert kept


def test_steps_are_the_programs_own(profiler: Profiler, tmp_path: Path) -> None:
    csv_log.watch(tmp_path / "memory.csv", profiler=profiler, every=2, step=lambda: 1000)
    rollouts(profiler, 4)
    profiler.close()

    assert {row["step"] for row in rows_of(tmp_path / "memory.csv")} == {"1000"}


def test_every_is_at_least_one(profiler: Profiler, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="every must be >= 1"):
        csv_log.watch(tmp_path / "memory.csv", profiler=profiler, every=0)
    profiler.close()


def test_a_forked_child_writes_no_findings(profiler: Profiler, tmp_path: Path) -> None:
    csv_log.watch(tmp_path / "memory.csv", profiler=profiler)
    rollouts(profiler, 1)
    child = os.fork()
    if child == 0:
        profiler.close()
        os._exit(0)
    os.waitpid(child, 0)

    assert not (tmp_path / "memory.findings.csv").exists()
    profiler.close()


def test_findings_that_cannot_be_logged_are_one_warning(profiler: Profiler, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    csv_log.watch(folder / "memory.csv", profiler=profiler)
    (folder / "memory.csv").unlink()
    folder.rmdir()

    with pytest.warns(PhaseprofWarning, match="an integration failed: FileNotFoundError"):
        profiler.close()


def test_the_end_of_the_interpreter_is_the_end_of_the_run(tmp_path: Path) -> None:
    program = "import phaseprof as pp; pp.integrations.csv.watch('m.csv')\nwith pp.generation(): pass"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}

    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environ, check=True, timeout=60)

    assert "Too short" in (tmp_path / "m.findings.txt").read_text()


@needs_all
@others_warn
def test_tensorboard_holds_the_figures_and_the_findings(unbounded: Profiler, tmp_path: Path) -> None:
    board = pytest.importorskip("torch.utils.tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer = board.SummaryWriter(str(tmp_path))
    pp.integrations.tensorboard.watch(writer, profiler=unbounded)  # type: ignore[attr-defined]
    kept = rollouts(unbounded)
    writer.close()
    unbounded.close()

    events = EventAccumulator(str(tmp_path)).Reload()
    tags = events.Tags()
    assert set(tags["scalars"]) == KEYS
    assert len(events.Scalars("memory/experience/size_mb")) == 3
    text = events.Tensors("phaseprof/findings/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "1 expected count is broken" in text
    assert "| expectation |" in text
    assert kept


@others_warn
def test_mlflow_holds_the_figures_and_the_findings(unbounded: Profiler, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.create_experiment("walker", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment("walker")
    with mlflow.start_run() as run:
        pp.integrations.mlflow.watch(profiler=unbounded)  # type: ignore[attr-defined]
        kept = rollouts(unbounded)
    unbounded.close()

    client = mlflow.MlflowClient()
    data = client.get_run(run.info.run_id).data
    assert set(data.metrics) >= KEYS
    assert len(client.get_metric_history(run.info.run_id, "memory/experience/size_mb")) == 3
    assert data.tags["phaseprof/conclusion"].endswith("1 expected count is broken")
    table = json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/phaseprof/findings.json"))
    assert "verdict" in table["columns"]
    assert len(table["data"]) == 1
    assert kept


@others_warn
def test_aim_holds_the_figures_and_the_findings(unbounded: Profiler, tmp_path: Path) -> None:
    aim = pytest.importorskip("aim")

    run = aim.Run(repo=str(tmp_path), system_tracking_interval=None, capture_terminal_logs=False)
    pp.integrations.aim.watch(run, profiler=unbounded)  # type: ignore[attr-defined]
    kept = rollouts(unbounded)
    names = {metric.name for metric in run.metrics()}
    unbounded.close()

    assert names >= KEYS
    assert run["phaseprof/conclusion"].endswith("1 expected count is broken")
    run.close()
    assert kept
