"""What the demo's six scenarios print, from recordings of them: each word as a user reads it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from record_demos import DATA, SCENARIOS

from phaseprof import load
from phaseprof.analysis.findings import find_leaks
from phaseprof.recording.model import ProcessRun
from phaseprof.report.build import build_summary
from phaseprof.report.text import Style


def recorded(scenario: str, folder: Path) -> ProcessRun:
    file = folder / f"{scenario}.jsonl"
    file.write_bytes(gzip.decompress((DATA / f"{scenario}.jsonl.gz").read_bytes()))
    return load(file).main


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_screen_of_a_scenario(scenario: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    process = recorded(scenario, tmp_path)

    text = build_summary(process, find_leaks(process)).render(Style(unicode=False, full=False))

    golden(f"demo-{scenario}.txt", text)


def test_a_healthy_run_is_one_screen_without_a_warning(tmp_path: Path) -> None:
    process = recorded("none", tmp_path)

    text = build_summary(process, find_leaks(process)).render(Style(unicode=False, full=False))

    assert "No leak found in 12 generations." in text
    assert len(text.splitlines()) <= 24
    assert "WARNING" not in text
    assert "leak!" not in text


@pytest.mark.parametrize(
    ("scenario", "phase", "place"),
    [
        ("evaluate", "evaluate_population", "trainer.used_envs (list of "),
        ("train", "train_population", "trainer.used_batches (list of "),
        ("evolve", "evolve_population", "trainer.ancestors (list of "),
    ],
)
def test_a_leak_is_told_with_its_phase_and_who_holds_it(scenario: str, phase: str, place: str, tmp_path: Path) -> None:
    process = recorded(scenario, tmp_path)

    text = build_summary(process, find_leaks(process)).render(Style(unicode=False, full=False))

    assert f" created in {phase} leak" in text
    assert place in text
