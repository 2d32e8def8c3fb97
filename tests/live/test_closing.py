"""The last look: a recording that is closed without asking answers as asking would have."""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.analysis.findings import find_leaks
from phaseprof.recording.model import ProcessRun

# In a process of its own, with a heap of its own: what else a test process holds would be looked at as well, and a path
# may lead through it.
PROGRAM = """
import json, sys, time
from phaseprof import Profiler

class Episode:
    def __init__(self):
        self.steps = [float(n) for n in range(2000)]

def leak(profiler, kept):
    for g in range(14):
        with profiler.generation(g), profiler.phase("collect"):
            kept.extend(Episode() for _ in range(3))
            time.sleep(0.06)  # counters are read every 50 ms at most

def run(folder, asks):
    profiler, kept = Profiler(folder), []
    leak(profiler, kept)
    if asks:
        print(json.dumps([finding.summary for finding in profiler.findings()]))
    profiler.close()

run(sys.argv[1], sys.argv[2] == "asks")
"""


def run_program(folder: Path, *, asks: bool) -> tuple[ProcessRun, str]:
    """Run it; return its recording, and what it printed."""
    command = [sys.executable, "-c", PROGRAM, str(folder), "asks" if asks else "does not"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return load(folder).main, done.stdout


def test_whoever_does_not_ask_gets_the_same_answer(tmp_path: Path) -> None:
    process, _ = run_program(tmp_path / "run", asks=False)

    (found,) = [f for f in find_leaks(process) if f.verdict == "leak"]
    assert found.subject == "Episode"
    assert "kept" in " ".join(found.holder)


def test_what_was_asked_for_is_not_looked_at_again(tmp_path: Path) -> None:
    process, printed = run_program(tmp_path / "run", asks=True)

    assert [f.summary for f in find_leaks(process)] == json.loads(printed)


def test_nothing_is_looked_at_where_the_program_took_everything_down(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    profiler, blocks = Profiler(str(tmp_path / "run")), []
    for g in range(14):
        with profiler.generation(g), profiler.phase("step"):
            blocks += [libc.malloc(60_000) for _ in range(20)]
            time.sleep(0.02)  # each is read
    for block in blocks:
        libc.free(block)

    profiler.close()

    process = load(tmp_path / "run").main
    assert all(told.g < 13 for told in process.looks.values())


class Ring:
    def __init__(self) -> None:
        self.itself, self.pages = self, bytearray(200_000)


def test_a_collection_at_the_end_is_read(tmp_path: Path) -> None:
    """What it took had waited for it; nothing else shows that."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        profiler = Profiler(str(tmp_path / "run"), budget=None)
        for g in range(14):
            with profiler.generation(g), profiler.phase("step"):
                for _ in range(5):
                    Ring()
        gc.collect()

        profiler.close()
    finally:
        if was_on:
            gc.enable()

    series = load(tmp_path / "run").main.series
    flags, memory = (series["generation end", m] for m in ("after_full_collection", "malloc_in_use_bytes"))
    assert flags.last == 1.0 and memory.last < memory.values[-2] - 10 * 200_000


@pytest.mark.parametrize("n", [0, 1])
def test_a_recording_without_generations_is_closed_at_once(tmp_path: Path, n: int) -> None:
    profiler = Profiler(str(tmp_path / "run"))
    for _ in range(n):
        profiler.checkpoint("once")

    profiler.close()

    assert load(tmp_path / "run").main.ended is not None
