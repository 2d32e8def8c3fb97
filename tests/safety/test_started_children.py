"""Children of a program that is recorded: each has a recording of its own, whole, and the parent's is untouched."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaseprof import load

FORKS = """
import os, sys, threading, warnings
from phaseprof import Profiler
warnings.simplefilter("ignore", DeprecationWarning)
folder, end = sys.argv[1:3]
profiler, stop = Profiler(folder, budget=None, sample_every_s=0.01), threading.Event()

def beside():
    while not stop.wait(0.0005):
        with profiler.phase("beside"):
            profiler.checkpoint("there")

threads = [threading.Thread(target=beside) for _ in range(3)]
for thread in threads:
    thread.start()
for turn in range(8):
    with profiler.generation(turn), profiler.phase("train"):
        child = os.fork()
        if not child:
            for number in range(5):
                with profiler.generation(number), profiler.phase("child"):
                    profiler.checkpoint("there")
            if end == "closed":
                profiler.close()
            if end == "raised":
                sys.stderr = None
                raise RuntimeError
            os._exit(0)
        os.waitpid(child, 0)
stop.set()
for thread in threads:
    thread.join()
profiler.close()
"""
STARTS = """
import multiprocessing, sys
from phaseprof import Profiler

def work(folder):
    profiler = Profiler(folder, budget=None)
    for number in range(5):
        with profiler.generation(number), profiler.phase("child"):
            profiler.checkpoint("there")
    profiler.close()

if __name__ == "__main__":
    profiler = Profiler(sys.argv[1], budget=None)
    for turn in range(8):
        with profiler.generation(turn), profiler.phase("train"):
            if turn in (2, 5):
                child = multiprocessing.get_context(sys.argv[2]).Process(target=work, args=(sys.argv[1],))
                child.start()
                child.join()
    profiler.close()
"""


def run(tmp_path: Path, program: str, how: str) -> Path:
    script, folder = tmp_path / "program.py", tmp_path / "run"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, script, folder, how], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def check(folder: Path, n_children: int) -> None:
    processes = load(folder).processes
    visits = [{name: totals.visits for name, totals in process.phases.items()} for process in processes]
    parents = [at for at, one in enumerate(visits) if "train" in one]

    assert len(parents) == 1 and len(processes) == 1 + n_children
    for at, process in enumerate(processes):
        is_parent = at in parents
        assert visits[at]["train" if is_parent else "child"] == (8 if is_parent else 5)
        assert ("child" in visits[at]) is not is_parent
        assert len(process.generations) == (8 if is_parent else 5)
        assert process.notes == []
    assert processes[parents[0]].ended is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("end", ["left", "closed", "raised"])
def test_a_fork_in_a_generation_beside_threads_has_a_recording_of_its_own(tmp_path: Path, end: str) -> None:
    check(run(tmp_path, FORKS, end), 8)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_is_started_has_a_recording_of_its_own(tmp_path: Path, method: str) -> None:

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not here")
    check(run(tmp_path, STARTS, method), 2)
