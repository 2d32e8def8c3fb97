"""LeakBench runs: its cases are complete, and one of them goes through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from leakbench import KINDS, load_cases

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_every_case_says_what_it_is() -> None:
    pytest.importorskip("torch")
    cases = load_cases()

    unclear = [
        case.name
        for case in cases.values()
        if case.truth.kind not in KINDS
        or not case.source
        or not (case.leaky_build or case.healthy_twin)
        or bool(case.truth.phase) != case.leaky_build
    ]

    assert not unclear


def test_a_padded_run_writes_its_results(tmp_path: Path) -> None:
    pytest.importorskip("torch")  # the cases are loaded together, and most of them need it
    options = ["--tool", "null", "--case", "log_lines", "--build", "leaky", "--stretch", "0.02", "--json"]

    subprocess.run(
        [sys.executable, "-m", "leakbench", *options, str(tmp_path / "out.json")],
        cwd=BENCHMARKS, check=True, capture_output=True, timeout=120,
    )  # fmt: skip

    record = json.loads((tmp_path / "out.json").read_text())
    (row,) = record["results"]
    assert record["settings"]["stretch"] == 0.02
    assert row["seconds"] >= 30 * 0.02
    assert 0 < row["slept"] < row["seconds"]
    assert not row["grade"]["detected"]
