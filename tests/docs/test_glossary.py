"""Every metric that a run records is defined in the glossary."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import phaseprof
from phaseprof.recording import format as fmt

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"

# Everything on, nothing spared, on a program in which objects, arrays, buffers, files and threads pile up.
PROGRAM = """
import sys, tempfile, threading
import numpy as np
import phaseprof as pp

class Environment: ...
class Trainer: ...

profiler = pp.Profiler(sys.argv[1], enabled=True, budget=None, sample_every_s=0.005)
profiler.watch(Environment, expected=(0, 100_000))
trainer, done = Trainer(), threading.Event()
trainer.kept, trainer.files = [], []
profiler.track("trainer", lambda: trainer)
for index in range(9):
    with profiler.generation(index, items=3), profiler.phase("evaluate"):
        trainer.kept += [Environment() for _ in range(50)]
        trainer.kept += [np.zeros(5_000), np.zeros(50_000)[:3], bytearray(100_000)]
        trainer.files.append(tempfile.TemporaryFile())
        threading.Event().wait(0.02)
profiler.findings()
profiler.close()
"""
WITH_TORCH = PROGRAM.replace(
    "for index", "import torch\nweight = torch.ones(8, requires_grad=True)\nfor index"
).replace("        trainer.files", "        trainer.kept.append((weight * 2).sum())\n        trainer.files")


def recorded_metrics(program: str, folder: Path) -> set[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, str(folder / "run")]
    subprocess.run(command, check=True, env=environ, cwd=folder, capture_output=True)
    found: set[str] = set()
    for file in (folder / "run").glob("*.jsonl"):
        records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        found |= {metric for record in records if record["k"] == "m" for metric in record["v"]}
    run = phaseprof.load(folder / "run")
    return found | {metric for process in run.processes for _, metric in process.series}


def defined_metrics() -> list[re.Pattern[str]]:
    """Return a pattern for each metric; words in capitals stand for any name."""
    names = re.findall(r"^\| `([^`]+)` \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.compile(re.sub(r"\\?[A-Z]{2,}", ".+", re.escape(name)) + r"\Z") for name in names]


def undefined(metrics: set[str]) -> list[str]:
    patterns = defined_metrics()
    return sorted(metric for metric in metrics if not any(pattern.match(metric) for pattern in patterns))


def test_every_metric_of_a_run_is_defined(tmp_path: Path) -> None:
    metrics = recorded_metrics(PROGRAM, tmp_path)

    assert {"anonymous_bytes", "watched/Environment", "peak/evaluate_bytes", "tracked/trainer"} <= metrics
    assert undefined(metrics) == []


def test_every_metric_of_a_run_with_torch_is_defined(tmp_path: Path) -> None:
    pytest.importorskip("torch")

    metrics = recorded_metrics(WITH_TORCH, tmp_path)

    assert {"storages/cpu_bytes", "graph_nodes"} <= metrics
    assert undefined(metrics) == []


@pytest.mark.parametrize("counter", fmt.DEVICE_COUNTERS)
def test_every_counter_of_a_device_is_defined(counter: str) -> None:
    assert undefined({f"cuda0/{counter}"}) == []


def test_a_name_that_nobody_defined_would_be_noticed() -> None:
    assert undefined({"rss_bytes", "made_up_bytes"}) == ["made_up_bytes"]
