"""Whether the budget holds: CPU time of loops with phaseprof on, beside the same loops with it switched off.

    python benchmarks/bench_budget.py [--seconds 30] [--rounds 1]

Generations of 0.66 ms to 2 s with 1, 10 and 1,000 phases each, in one thread, and some of them in 8 and 64 threads.
Each loop runs in a process of its own, on and off in short turns.  The bound is 2 % of the loop's CPU time, and 0.5 µs
a visit where visits are so many that this is more.  A row's note says what phaseprof itself stated.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SHARE, A_VISIT_S = 0.02, 0.5e-6
CELLS = [
    *((ms, phases, 1) for ms in (0.66, 2.7, 20.0, 200.0, 2000.0) for phases in (1, 10, 1000)),
    *((ms, 10, threads) for ms in (20.0, 200.0) for threads in (8, 64)),
]
QUICK = [(0.66, 1, 1), (20.0, 10, 1)]
SECONDS, ROUNDS = 30.0, 1


def run_arm(ms: float, phases: int, threads: int, seconds: float) -> dict[str, float]:
    """Run one loop in a process of its own; see ``budget_arm`` for what it says."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).with_name("budget_arm.py")), str(ms), str(phases), str(threads)]
        done = subprocess.run([*command, str(seconds), f"{folder}/run"], capture_output=True, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def row_of(ms: float, phases: int, threads: int, seconds: float, rounds: int) -> dict[str, object]:
    """Measure one loop; the row is the round with the median quotient."""
    found = sorted(
        (run_arm(ms, phases, threads, seconds) for _ in range(rounds)), key=lambda one: one["on_s"] / one["off_s"]
    )
    middle = found[len(found) // 2]
    on, off, visits = middle["on_s"], middle["off_s"], middle["visits"]
    share = on / off - 1
    allowed = max(SHARE, A_VISIT_S * visits / off)
    spread = f"{found[0]['on_s'] / found[0]['off_s'] - 1:+.1%} to {found[-1]['on_s'] / found[-1]['off_s'] - 1:+.1%}"
    stated = statistics.median(one["stated_s"] / one["off_s"] for one in found)
    in_threads = f", {threads} threads" if threads > 1 else ""
    return {
        "name": f"generations of {ms:g} ms, {phases} phases{in_threads}",
        "ours": on,
        "peer": off,
        "peer_name": "the same, switched off",
        "ratio": off / on,
        "bound": 1 / (1 + allowed),
        "note": f"{share:+.1%} CPU ({spread}), stated {stated:.1%}, {(on - off) / visits * 1e6:.2f} µs a visit",
    }


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure every loop in ten minutes; two loops if quick."""
    if quick:
        return [row_of(*cell, seconds=4.0, rounds=1) for cell in QUICK]
    return [row_of(*cell, seconds=SECONDS, rounds=ROUNDS) for cell in CELLS]


def main() -> None:
    """Measure every loop with the given numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    args = parser.parse_args()
    for cell in CELLS:
        found = row_of(*cell, seconds=args.seconds, rounds=args.rounds)
        print(f"{found['name']:48} {found['note']}", flush=True)


if __name__ == "__main__":
    main()
