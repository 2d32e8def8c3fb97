"""Generations by the clock: even, bounded, and written once."""

from __future__ import annotations

import gc
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from phaseprof.live.clock_turns import MOST, TICK_S, ClockTurns
from phaseprof.recording import format as fmt

ROOT = Path(__file__).resolve().parents[2]
SECOND = 10**9


def written(turns: ClockTurns, first: int = 0) -> list[fmt.Record]:
    records: list[fmt.Record] = []
    turns.write(records.append, at="generation end", first=first)
    return records


def test_a_turn_is_half_a_second_however_often_memory_is_sampled() -> None:
    turns = ClockTurns(0)
    for tenth in range(1, 41):
        turns.see(tenth * SECOND // 10, {"rss_bytes": float(tenth)})

    records = written(turns)
    turns.close()

    readings = [r.v["rss_bytes"] for r in records if isinstance(r, fmt.Metrics)]
    assert readings == [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]
    assert [r.seconds for r in records if isinstance(r, fmt.GenerationEnd)] == [TICK_S] * 8
    assert all(r.implied for r in records if isinstance(r, fmt.GenerationBegin))


def test_a_long_run_takes_longer_turns_and_no_more_memory() -> None:
    turns = ClockTurns(0)
    for second in range(1, 4000):
        turns.see(second * SECOND, {"rss_bytes": float(second)})

    records = [r for r in written(turns) if isinstance(r, fmt.Metrics)]
    turns.close()

    assert MOST // 2 <= len(records) <= MOST
    steps = {b.t - a.t for a, b in pairwise(records)}
    assert steps == {turns.tick_ns}


def test_a_full_collection_shows_at_the_turn_that_it_came_in() -> None:
    turns = ClockTurns(0)
    for second in range(1, 6):
        if second == 3:
            gc.collect()
        turns.see(second * SECOND, {"rss_bytes": 1.0})

    assert not turns.was_collected()
    flags = [r.v["after_full_collection"] for r in written(turns) if isinstance(r, fmt.Metrics)]
    assert flags == [0.0, 0.0, 1.0, 0.0, 0.0]
    turns.close()


def test_a_full_collection_before_the_newest_reading_is_told_by_the_last_that_replaces_it() -> None:
    turns = ClockTurns(0)
    turns.see(SECOND, {"rss_bytes": 1.0})
    gc.collect()
    turns.see(2 * SECOND, {"rss_bytes": 1.0})
    written(turns)

    assert turns.was_collected()
    turns.close()


def test_no_full_collection_is_lost_when_turns_are_joined() -> None:
    turns = ClockTurns(0)
    for tick in range(1, MOST + 2):
        if tick == 101:
            gc.collect()
        turns.see(tick * int(TICK_S * SECOND), {"rss_bytes": 1.0})

    flags = [r.v["after_full_collection"] for r in written(turns) if isinstance(r, fmt.Metrics)]
    assert sum(flags) == 1.0 and flags.index(1.0) == 50
    turns.close()


def test_what_follows_the_first_answer_is_not_judged() -> None:
    turns = ClockTurns(0)
    turns.see(SECOND, {"rss_bytes": 1.0})
    first = written(turns)
    turns.see(9 * SECOND, {"rss_bytes": 9.0})

    assert len(first) == 3
    assert written(turns) == []
    turns.close()


SCRIPT = """
import time
kept = []
def turn(_):  # called by no loop of the program's own, which would be found
    kept.append([bytearray(1000) for _ in range(2000)])
    time.sleep(0.2)
list(map(turn, range(26)))
"""


@pytest.mark.slow
def test_a_program_that_marks_nothing_ends_in_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "phaseprof"]
    environ = {"PYTHONPATH": str(ROOT), "PATH": ""}

    shown = subprocess.run(
        [*command, "run", "--out", "r", "train.py"], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    checked = subprocess.run([*command, "check", "r"], cwd=tmp_path, env=environ, capture_output=True, text=True)

    assert "1 leak found" in shown.stdout or "LEAK" in shown.stdout
    assert checked.returncode == 1, checked.stdout
    assert " every 0.5 s since second " in checked.stdout
