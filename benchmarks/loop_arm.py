"""One arm of the training loop in a process of its own: bare, with phaseprof switched off, or with everything on.

    python benchmarks/loop_arm.py ARM SCENARIO FOLDER

Trains one generation of the demo's trainer for each line on standard input, and answers with a line of JSON: CPU and
wall seconds of that generation.  At the end of the input the last line says the resident peak, and what the training
came to, which must be the same in every arm.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

# Before phaseprof takes it: its clock stands still while this arm waits and another one trains.  Else the budget, a
# share of wall time, would be several times what it is in a loop that runs alone.
_clock = time.perf_counter_ns
_waited = 0
time.perf_counter_ns = lambda: _clock() - _waited

import phaseprof  # noqa: E402 - as said

ARMS = ("bare", "off", "on")


def undecorated(name: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    return lambda function: function


def make_bare() -> None:
    """Let the trainer be the program that it was before somebody instrumented it.

    Must come before the trainer's module is imported: then no profiler is ever made in this process.
    """
    phaseprof.profile_phase = undecorated  # type: ignore[assignment]
    phaseprof.checkpoint = lambda label: nullcontext()  # type: ignore[assignment,return-value]


def peak_bytes() -> int:
    """The resident peak of this process; not ``ru_maxrss``, which may still be that of the parent."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s*(\d+)", status)
    return 1024 * int(found[1]) if found else 0


def turns() -> Iterator[int]:
    """Count the lines on standard input as they come; what waiting for them takes is no time of the profiler's."""
    global _waited
    index = 0
    while True:
        began = _clock()
        line = sys.stdin.readline()
        _waited += _clock() - began
        if not line:
            return
        yield index
        index += 1


def say(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


def run(arm: str, scenario: str, folder: str) -> None:
    """Train as often as asked, and say what it took."""
    if arm == "bare":
        make_bare()
    import torch

    from phaseprof.demo import main as demo
    from phaseprof.demo.trainer import Trainer

    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    if arm != "bare":
        # Said in full, so that an environment cannot change what is measured.
        phaseprof.configure(run=folder if arm == "on" else None, enabled=arm == "on", budget=0.02)
        demo.expect_counts()
    trainer = Trainer(scenario)  # type: ignore[arg-type]
    if arm != "bare":
        demo.follow(trainer)
    for index in turns():
        wall, cpu = time.perf_counter(), time.process_time()
        with nullcontext() if arm == "bare" else phaseprof.generation(index, items=trainer.env_steps()):
            trainer.collect_experience()
            fitness = trainer.evaluate_population()
            trainer.train_population()
            trainer.evolve_population(fitness)
        say(cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)
    say(peak_bytes=peak_bytes(), fitness=trainer.stats.fitness)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3])
