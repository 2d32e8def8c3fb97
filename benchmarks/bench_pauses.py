"""The longest pause in a loop, whatever the heap: what phaseprof keeps a program waiting for at most.

    python benchmarks/bench_pauses.py [--seconds 20]

Each heap is made in a process of its own, whose loop leaks a little, so that phaseprof looks closer.  ``ours`` is the
processor time of the longest call into phaseprof inside the loop: on a busy machine wall time would count what others
do.  The look at the end is a row of its own, as is a deep size of three million items.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable

MOST_S, MOST_AT_END_S, MOST_SIZES_S = 0.1, 2.0, 1.5
SECONDS, SECONDS_QUICK = 20.0, 3.0
HEAPS: dict[str, Callable[[], object]] = {
    "300,000 lists": lambda: [[None] for _ in range(300_000)],
    "10 million lists": lambda: [[None] for _ in range(10_000_000)],
    "6 dicts of a million strings": lambda: [{i: str(i) for i in range(1_000_000)} for _ in range(6)],
    "an array of 5 million tuples": lambda: _object_array(5_000_000),
    "3 million tracked lists": lambda: [[None, str(i)] for i in range(3_000_000)],
}


class Env:
    """What leaks."""


def _object_array(n: int) -> object:
    import numpy as np

    array = np.empty(n, dtype=object)
    for i in range(n):
        array[i] = (i,)
    return array


def measure(heap: str, seconds: float) -> dict[str, object]:
    """Run one loop in this process; return the longest call, the time at the end, and that of all deep sizes."""
    from phaseprof import Profiler

    gc.disable()
    kept: list[object] = [HEAPS[heap]()]
    gc.enable()
    profiler = Profiler(None, budget=0.02)
    profiler.watch(Env, expected=(0, 5))
    if "tracked" in heap:
        profiler.track("kept", lambda: kept[0])
    longest = 0.0

    def timed(call: Callable[[], object]) -> None:
        nonlocal longest
        began = time.thread_time()
        call()
        longest = max(longest, time.thread_time() - began)

    until, index = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        generation, phase = profiler.generation(index), profiler.phase("work")
        timed(generation.__enter__)
        timed(phase.__enter__)
        kept.extend(Env() for _ in range(20))
        time.sleep(0.25)
        timed(lambda phase=phase: phase.__exit__(None, None, None))  # type: ignore[misc]
        timed(lambda generation=generation: generation.__exit__(None, None, None))  # type: ignore[misc]
        index += 1
    began = time.thread_time()
    profiler.findings()
    at_end = time.thread_time() - began
    budget = profiler._session.budget
    sizes_ns = budget.spent_ns["tracked"] + budget.asked_ns["tracked"]
    pause_ns, job = budget.longest_pause
    stated = pause_ns / 1e9
    return {"longest": longest, "at_end": at_end, "sizes": sizes_ns / 1e9, "stated": stated, "job": job}


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure every heap; two minutes, one heap if quick."""
    found: list[dict[str, object]] = []
    for heap in list(HEAPS)[: 1 if quick else None]:
        command = [sys.executable, __file__, "--heap", heap, "--seconds", str(SECONDS_QUICK if quick else SECONDS)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        figures = json.loads(done.stdout.splitlines()[-1])
        note = f"{figures['stated'] * 1e3:.0f} ms of wall time stated, by {figures['job']}"
        found.append({"name": f"longest pause, {heap}", "ours": figures["longest"], "most": MOST_S, "note": note})
        found.append({"name": f"look at the end, {heap}", "ours": figures["at_end"], "most": MOST_AT_END_S})
        if figures["sizes"]:
            found.append({"name": f"deep sizes in all, {heap}", "ours": figures["sizes"], "most": MOST_SIZES_S})
    return found


def main() -> None:
    """Measure one heap as JSON, or print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heap", choices=list(HEAPS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    args = parser.parse_args()
    if args.heap:
        print(json.dumps(measure(args.heap, args.seconds)))
        return
    for row in rows(quick=False):
        print(row["name"], f"{row['ours']:.3f} s of at most {row['most']} s", row.get("note", ""))


if __name__ == "__main__":
    main()
