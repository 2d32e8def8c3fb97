"""The last look: a recording that is closed without asking answers as asking would have."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.analysis.findings import find_leaks
from phaseprof.recording.model import ProcessRun


class Episode:
    def __init__(self) -> None:
        self.steps = [float(n) for n in range(2000)]


def leak(profiler: Profiler, kept: list[Episode], n: int = 14) -> None:
    for g in range(n):
        with profiler.generation(g), profiler.phase("collect"):
            kept.extend(Episode() for _ in range(3))
            time.sleep(0.06)  # counters are read every 50 ms at most


def test_whoever_does_not_ask_gets_the_same_answer(
    make: Callable[..., Profiler], recorded: Callable[[Profiler], ProcessRun]
) -> None:
    profiler, kept = make(), list[Episode]()
    leak(profiler, kept)

    process = recorded(profiler)

    # In a process whose heap is too large for a census in the budget, the list is named and not what lies in it.
    (found,) = [f for f in find_leaks(process) if f.verdict == "leak"]
    assert found.subject in ("Episode", "list")
    assert "kept" in " ".join(found.holder)


def test_what_was_asked_for_is_not_looked_at_again(
    make: Callable[..., Profiler], recorded: Callable[[Profiler], ProcessRun]
) -> None:
    profiler, kept = make(), list[Episode]()
    leak(profiler, kept)
    told = [f.summary for f in profiler.findings()]

    process = recorded(profiler)

    assert [f.summary for f in find_leaks(process)] == told


def test_nothing_is_looked_at_where_the_program_took_everything_down(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    profiler, blocks = Profiler(str(tmp_path / "run")), []
    for g in range(14):
        with profiler.generation(g), profiler.phase("step"):
            blocks += [libc.malloc(60_000) for _ in range(20)]
    for block in blocks:
        libc.free(block)

    profiler.close()

    process = load(tmp_path / "run").main
    assert ("generation end", "arrays_bytes") not in process.series


@pytest.mark.parametrize("n", [0, 1])
def test_a_recording_without_generations_is_closed_at_once(tmp_path: Path, n: int) -> None:
    profiler = Profiler(str(tmp_path / "run"))
    for _ in range(n):
        profiler.checkpoint("once")

    profiler.close()

    assert load(tmp_path / "run").main.ended is not None
