"""A loop of phases in a process of its own, with phaseprof on in every other stretch of it.

    python benchmarks/budget_arm.py GENERATION_MS PHASES THREADS SECONDS FOLDER

Prints a line of JSON: CPU seconds of the stretches with phaseprof on and off, how many visits there were with it on,
and what phaseprof says that it cost.
"""

from __future__ import annotations

import json
import sys
import threading
import time

# Before phaseprof takes it: its clock stands still while it is switched off.  Else the budget, a share of wall time,
# would be twice what it is in a loop that is profiled throughout.
_clock = time.perf_counter_ns
_stood_still = 0
time.perf_counter_ns = lambda: _clock() - _stood_still

from phaseprof import Profiler  # noqa: E402 - as said

STRETCH_S = 0.25


class Loop:
    """Generations of phases that compute for a set time; all threads do the same generation, each its own phases."""

    def __init__(self, generation_s: float, n_phases: int, n_threads: int, folder: str) -> None:
        self.profiler = Profiler(folder, enabled=True, budget=0.02)
        self.names = [f"phase {n}" for n in range(n_phases)]
        self.n_threads = n_threads
        self.index = 0
        began = time.process_time()
        sum(range(3_000_000))
        a_step_s = (time.process_time() - began) / 3_000_000
        self.n_steps = max(1, int(generation_s / n_phases / n_threads / a_step_s))

    def phases(self) -> None:
        profiler, steps = self.profiler, self.n_steps
        for name in self.names:
            with profiler.phase(name):
                sum(range(steps))

    def generation(self) -> None:
        with self.profiler.generation(self.index):
            if self.n_threads == 1:
                self.phases()
            else:
                threads = [threading.Thread(target=self.phases) for _ in range(self.n_threads)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        self.index += 1


def run(generation_s: float, n_phases: int, n_threads: int, seconds: float, folder: str) -> dict[str, float]:
    """Go through the loop for a while; on, off, off, on: what changes steadily in its course changes both."""
    global _stood_still
    loop = Loop(generation_s, n_phases, n_threads, folder)
    session = loop.profiler._session
    n_in_stretch = max(1, round(STRETCH_S / generation_s))
    cpu = {True: 0.0, False: 0.0}
    n_stretches = visits = 0
    until = _clock() + int(seconds * 1e9)
    while _clock() < until or n_stretches % 4:
        session.enabled = on = n_stretches % 4 in (0, 3)
        began, began_cpu = _clock(), time.process_time()
        for _ in range(n_in_stretch):
            loop.generation()
        cpu[on] += time.process_time() - began_cpu
        if on:
            visits += n_in_stretch * n_phases * n_threads
        else:
            _stood_still += _clock() - began
        n_stretches += 1
    session.enabled = True
    with loop.profiler.generation("to charge what was not charged yet"):
        pass
    session.budget.spent_ns["points"] = round(session.pace.spent_ns)
    return {"on_s": cpu[True], "off_s": cpu[False], "visits": visits, "stated_s": session.budget.total_ns / 1e9}


if __name__ == "__main__":
    ms, phases, threads, for_s, where = sys.argv[1:]
    print(json.dumps(run(float(ms) / 1e3, int(phases), int(threads), float(for_s), where)))
