"""The demo's trainer in a process of its own: bare, with everything on, or with phaseprof on in every other generation.

    python benchmarks/loop_arm.py bare|on|"by turns"|"by turns, reversed" SCENARIO GENERATIONS FOLDER

Prints a line of JSON: for each generation whether phaseprof was on and its CPU and wall seconds, the resident peak, and
what the training came to, which must be the same in every arm.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

# Before phaseprof takes it: its clock stands still while it is switched off.  Else the budget, a share of wall time,
# would be twice what it is in a loop that is profiled throughout.
_clock = time.perf_counter_ns
_stood_still = 0
time.perf_counter_ns = lambda: _clock() - _stood_still

import phaseprof  # noqa: E402 - as said


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


def is_on(arm: str, index: int) -> bool:
    """On, off, off, on, and again, or the reverse: what changes steadily in the course of the run changes both."""
    is_outer = index % 4 in (0, 3)
    return arm == "on" or (arm == "by turns" and is_outer) or (arm == "by turns, reversed" and not is_outer)


def run(arm: str, scenario: str, generations: int, folder: str) -> dict[str, object]:
    """Train, and say what each generation took."""
    global _stood_still
    if arm == "bare":
        make_bare()
    import torch

    from phaseprof.demo import main as demo
    from phaseprof.demo.trainer import Trainer

    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    trainer = Trainer(scenario)  # type: ignore[arg-type]

    def train(index: int, *, on: bool) -> None:
        with phaseprof.generation(index, items=trainer.env_steps()) if on else nullcontext():
            trainer.collect_experience()
            fitness = trainer.evaluate_population()
            trainer.train_population()
            trainer.evolve_population(fitness)

    session = None
    if arm != "bare":
        # Said in full, so that an environment cannot change what is measured.
        profiler = phaseprof.configure(run=folder, enabled=True, budget=0.02)
        demo.expect_counts()
        demo.follow(trainer)
        session = profiler._session
        session.enabled = False
    began = _clock()
    train(-1, on=False)  # what torch sets up at its first steps is nobody's
    _stood_still += _clock() - began
    turns = []
    for index in range(generations):
        on = is_on(arm, index)
        if session is not None:
            session.enabled = on
        began, wall, cpu = _clock(), time.perf_counter(), time.process_time()
        train(index, on=on)
        turns.append((on, time.process_time() - cpu, time.perf_counter() - wall))
        if not on:
            _stood_still += _clock() - began
    return {"turns": turns, "peak_bytes": peak_bytes(), "fitness": trainer.stats.fitness}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])))
