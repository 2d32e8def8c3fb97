"""Threads that record while the main thread ends its generations."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from phaseprof import Profiler, load


def test_a_reading_of_one_thread_stands_the_end_of_a_generation_in_another(tmp_path: Path) -> None:
    profiler, stop = Profiler(tmp_path, budget=None), threading.Event()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work() -> None:
        while not stop.is_set():
            with profiler.phase("beside"):
                profiler.checkpoint("there")

    threads = [threading.Thread(target=work) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for turn in range(30):
            with profiler.generation(turn), profiler.phase("train"):
                time.sleep(0.005)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    profiler.close()

    process = load(tmp_path).main
    assert [note for note in process.notes if "failed" in note] == []
    assert process.phases["train"].visits == 30


def test_a_recording_that_was_switched_off_is_ended_with_the_interpreter(tmp_path: Path) -> None:
    program = """
import subprocess
import sys
from phaseprof import Profiler
profiler = Profiler(sys.argv[1])
with profiler.generation(0), profiler.phase("train"):
    pass
profiler.enabled = False
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)

    assert load(tmp_path).main.ended is not None
