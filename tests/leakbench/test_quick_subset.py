"""A few programs of LeakBench, leaky and healthy, under phaseprof: each leak is named whole, each twin is silent.

One of a kind where that is quick; the benchmark itself runs them all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
BENCHMARKS, ROOT = HERE.parents[1] / "benchmarks", HERE.parents[1]

# Name of the case, and how many generations are enough; ``None``: as many as the case gives.
PLAIN = (
    ("log_lines", None), ("generations_kept", 14), ("frames_in_tuples", 14), ("cached_method", 14),
    ("episode_mapping", None), ("executors_not_shut_down", None), ("segments_not_unlinked", None),
)  # fmt: skip
TORCH = (("loss_list", 10), ("validation_outputs", 12))


def run_case(name: str, build: str, generations: int | None) -> dict[str, Any]:
    """Run one build in a process of its own, whose heap holds nothing of the tests."""
    command = [sys.executable, "-W", "ignore", str(HERE / "one_case.py"), name, build]
    command += [] if generations is None else [str(generations)]
    path = os.pathsep.join([str(BENCHMARKS), str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def check_leaky(name: str, generations: int | None) -> None:
    out = run_case(name, "leaky", generations)

    # The line is a mark of its own: of segments, say, it is not known which one made them.
    assert all(right for mark, right in out["marks"].items() if mark != "site"), out


@pytest.mark.parametrize(("name", "generations"), PLAIN)
def test_a_leak_is_named_whole(name: str, generations: int | None) -> None:
    check_leaky(name, generations)


@pytest.mark.parametrize(("name", "generations"), PLAIN)
def test_its_healthy_twin_is_silent(name: str, generations: int | None) -> None:
    assert run_case(name, "healthy", generations)["findings"] == []


@pytest.mark.parametrize(("name", "generations"), TORCH)
def test_a_leak_of_tensors_is_named_whole(name: str, generations: int | None) -> None:
    pytest.importorskip("torch")
    check_leaky(name, generations)


@pytest.mark.parametrize(("name", "generations"), TORCH)
def test_its_healthy_twin_with_tensors_is_silent(name: str, generations: int | None) -> None:
    pytest.importorskip("torch")
    assert run_case(name, "healthy", generations)["findings"] == []
