"""A loop of phases in a process of its own, with phaseprof on in every other stretch of it.

    python benchmarks/budget_arm.py GENERATION_MS PHASES THREADS SECONDS FOLDER

Stretches are short, since a busy machine changes its speed from moment to moment: on and off take turns between
generations, between the phases of a long one, or in the middle of a long phase, whose boundaries are always on.

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

STRETCH_S = 0.05


class Turns:
    """On, off, off, on: what changes steadily in the course of a loop changes both alike.

    Attributes:
        cpu_s: processor time with phaseprof on, and off.
    """

    def __init__(self, profiler: Profiler) -> None:
        self._session = profiler._session
        self._n = 0
        self._began, self._began_cpu = _clock(), time.process_time()
        self.cpu_s = {True: 0.0, False: 0.0}

    @property
    def is_on(self) -> bool:
        """Whether phaseprof is on."""
        return self._session.enabled

    @property
    def is_even(self) -> bool:
        """Whether there were as many stretches of both kinds."""
        return self._n % 4 == 0

    def switch(self, on: bool) -> None:
        """End a stretch, and begin one with phaseprof on or off."""
        global _stood_still
        now, cpu = _clock(), time.process_time()
        self.cpu_s[self.is_on] += cpu - self._began_cpu
        if not self.is_on:
            _stood_still += now - self._began
        self._session.enabled = on
        self._began, self._began_cpu = _clock(), time.process_time()

    def next(self, shift: int = 0) -> None:
        """Begin the next stretch; ``shift`` moves the order."""
        self._n += 1
        self.switch((self._n + shift) % 4 in (0, 3))


class Loop:
    """Generations of phases that compute for a set time; all threads do the same generation, each its own phases."""

    def __init__(self, generation_s: float, n_phases: int, n_threads: int, folder: str) -> None:
        self.profiler = Profiler(folder, enabled=True, budget=0.02)
        self.turns = Turns(self.profiler)
        self.names = [f"phase {n}" for n in range(n_phases)]
        self.n_threads = n_threads
        self.index = self.n_visits = 0
        began = time.process_time()
        sum(range(3_000_000))
        a_step_s = (time.process_time() - began) / 3_000_000
        phase_s = generation_s / n_phases
        is_long = n_threads == 1 and generation_s > STRETCH_S
        # Of a long phase, an even number of slices; of short ones in a long generation, as many as fill a stretch.
        self.n_slices = 2 * max(1, round(phase_s / STRETCH_S / 2)) if is_long and phase_s > STRETCH_S else 1
        self.n_in_block = max(1, round(STRETCH_S / phase_s)) if is_long and self.n_slices == 1 else 0
        self.n_in_stretch = 0 if is_long else max(1, round(STRETCH_S / generation_s))
        self.n_steps = max(1, int(phase_s / n_threads / self.n_slices / a_step_s))

    def phases(self) -> None:
        profiler, steps = self.profiler, self.n_steps
        for name in self.names:
            with profiler.phase(name):
                sum(range(steps))

    def sliced_phases(self) -> None:
        """Phases that are longer than a stretch."""
        for name in self.names:
            with self.profiler.phase(name):
                for _ in range(self.n_slices):
                    self.turns.next()
                    sum(range(self.n_steps))
                self.turns.switch(on=True)
            self.n_visits += 1

    def phases_in_blocks(self) -> None:
        """Phases of which some make a stretch."""
        profiler, steps = self.profiler, self.n_steps
        for at, name in enumerate(self.names):
            if at % self.n_in_block == 0:
                self.turns.next(self.index)
            with profiler.phase(name):
                sum(range(steps))
            self.n_visits += self.turns.is_on
        self.turns.switch(on=True)

    def phases_in_threads(self) -> None:
        threads = [threading.Thread(target=self.phases) for _ in range(self.n_threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def generation(self) -> None:
        """Do one turn of the loop."""
        if self.n_in_stretch and self.index % self.n_in_stretch == 0:
            self.turns.next()
        with self.profiler.generation(self.index):
            if self.n_threads > 1:
                self.phases_in_threads()
            elif self.n_in_stretch:
                self.phases()
            elif self.n_in_block:
                self.phases_in_blocks()
            else:
                self.sliced_phases()
        if self.n_in_stretch and self.turns.is_on:
            self.n_visits += len(self.names) * self.n_threads
        self.index += 1

    @property
    def is_even(self) -> bool:
        """Whether the loop may end here."""
        if self.n_in_stretch and self.index % self.n_in_stretch:
            return False
        return self.turns.is_even


def run(generation_s: float, n_phases: int, n_threads: int, seconds: float, folder: str) -> dict[str, float]:
    """Go through the loop for a while."""
    loop = Loop(generation_s, n_phases, n_threads, folder)
    session = loop.profiler._session
    until = _clock() + int(seconds * 1e9)
    loop.turns.switch(on=True)
    loop.turns.cpu_s = {True: 0.0, False: 0.0}
    while _clock() < until or not loop.is_even:
        loop.generation()
    loop.turns.switch(on=True)
    cpu_s = dict(loop.turns.cpu_s)
    # As the end of a generation charges it; a generation more would look at the heap again, which was not measured.
    session.write_counts(session.clock())
    session.budget.spent_ns["points"] = round(session.budget.after_effects * session.pace.spent_ns)
    return {
        "on_s": cpu_s[True],
        "off_s": cpu_s[False],
        "visits": loop.n_visits,
        "stated_s": session.budget.total_ns / 1e9,
    }


if __name__ == "__main__":
    ms, phases, threads, for_s, where = sys.argv[1:]
    print(json.dumps(run(float(ms) / 1e3, int(phases), int(threads), float(for_s), where)))
