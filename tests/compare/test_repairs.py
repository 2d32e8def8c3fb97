"""What became of a leak in a later run: gone, moved, still there, or new; and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phaseprof import Profiler
from phaseprof.analysis.repairs import repairs
from phaseprof.cli import main
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

HELD = ("train.py main() local trainer (Trainer)", ".used_envs (list, 192)")
LEAK = Finding("leak", "objects", phase="evaluate", subject="Env", holder=HELD, bytes_slope=4096.0)


def long_run(n: int = 20) -> ProcessRun:
    process = ProcessRun()
    process.add(fmt.Header(1, "0.1.0", 1, 0.0, 0, 4096))
    for g in range(n):
        process.add(fmt.Metrics(g, g, {"malloc_in_use_bytes": 1e6, "python_blocks": 1e5}, "generation end"))
    return process


def fates(before: list[Finding], after: list[Finding], n: int = 20) -> list[tuple[str, str, str]]:
    found = repairs([(long_run(), before), (long_run(n), after)])
    return [(one.place, one.fate, one.moved_to) for one in found]


def test_a_repair_that_holds() -> None:
    assert fates([LEAK], []) == [("trainer.used_envs", "gone", "")]


def test_a_run_that_is_too_short_shows_no_repair() -> None:
    assert fates([LEAK], [], n=3) == [("trainer.used_envs", "not known", "")]


@pytest.mark.parametrize(
    ("change", "fate", "moved_to"),
    [
        ({}, "still leaks", ""),
        ({"bytes_slope": 9e6}, "still leaks", ""),
        ({"verdict": "growing"}, "still grows", ""),
        ({"holder": ("run.py go() local t (Trainer)", HELD[1])}, "still leaks", "t.used_envs"),
        ({"holder": (HELD[0], ".pool (list, 192)")}, "still leaks", "trainer.pool"),
    ],
)
def test_a_leak_that_is_known_again(change: dict[str, object], fate: str, moved_to: str) -> None:
    assert fates([LEAK], [replace(LEAK, **change)]) == [("trainer.used_envs", fate, moved_to)]


@pytest.mark.parametrize("change", [{"subject": "Batch"}, {"phase": "train"}, {"bytes_slope": 9e6}])
def test_another_leak_is_new(change: dict[str, object]) -> None:
    other = replace(LEAK, holder=(HELD[0], ".pool (list, 192)"), **change)  # type: ignore[arg-type]

    assert fates([LEAK], [other]) == [("trainer.used_envs", "gone", ""), ("trainer.pool", "new", "")]


def test_of_two_alike_each_keeps_its_place() -> None:
    other = replace(LEAK, holder=(HELD[0], ".pool (list, 192)"))

    assert fates([LEAK, other], [other]) == [("trainer.used_envs", "gone", ""), ("trainer.pool", "still leaks", "")]


class Env:
    def __init__(self) -> None:
        self.prices = [float(tick) for tick in range(2_000)]


def record(folder: Path, *, leaks: bool) -> str:
    profiler, used = Profiler(str(folder), budget=None), []
    profiler.watch(Env)
    for number in range(16):
        with profiler.generation(number), profiler.phase("evaluate"):
            used.append(Env())
            if not leaks:
                used.clear()
    profiler.close()
    return str(folder)


def test_diff_says_it_of_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = record(tmp_path / "before", leaks=True), record(tmp_path / "after", leaks=False)
    page = tmp_path / "page.html"

    assert main(["diff", before, after, "--html", str(page)]) == 0

    assert "used: gone (Env, +" in capsys.readouterr().out
    assert "used: gone (Env, +" in page.read_text(encoding="utf-8")
