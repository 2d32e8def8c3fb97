"""``demo`` from the outside; what the demo itself does is tested beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_driver import phaseprof_command

from phaseprof.recording.reader import load_run

pytest.importorskip("torch")


def test_demo_trains_and_records(tmp_path: Path) -> None:
    done = phaseprof_command("demo", "--scenario", "none", "--generations", "2", "--out", "run", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Generation  1: " in done.stdout
    assert "FINAL MEMORY ANALYSIS" in done.stdout
    assert len(load_run(tmp_path / "run").main.generations) == 2


@pytest.mark.parametrize("options", [["--scenario", "evalute"], ["--generations", "0"]])
def test_demo_refuses_what_it_cannot_do(tmp_path: Path, options: list[str]) -> None:
    done = phaseprof_command("demo", *options, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("phaseprof demo: ")
    assert done.stderr.count("\n") == 1
