"""What it costs to learn the lines: a leaking loop with and without tracing, and what it waits for that.

    python benchmarks/bench_tracing.py [--seconds 60] [--rounds 3]

Each arm runs in a process of its own, in turns, at the default budget: a phase collects frames of which some stay,
another one computes.  Without tracing is the same loop under phaseprof, whose tracer is never asked.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from typing import Any

# A loop is to take no more than 2 % longer; a look is to make no longer pause than any other.
BOUND, MOST_S = 0.98, 0.1
SECONDS, SECONDS_QUICK, ROUNDS = 60.0, 5.0, 3
EACH_S = 0.05
KEPT = 12
# Heaps, and what one visit keeps, for which a look is measured alone; and the part of a pause in which it may ask.
LOOKS, LOOKS_QUICK = [(100_000, 1000), (1_000_000, 1000), (1_000_000, 10_000)], [(100_000, 1000)]
ASKING = 0.5


class Frame:
    """What leaks."""

    def __init__(self) -> None:
        self.pixels = bytearray(4096)
        self.reward = [0.5, 1.0]


def collect(kept: list[Frame]) -> None:
    """Make many frames, and keep a few of them."""
    kept.extend([Frame() for _ in range(1000)][:KEPT])


def measure(seconds: float, *, traces: bool) -> dict[str, Any]:
    """Run one arm; return processor time of a generation, and what tracing took by the recording's own account."""
    from phaseprof import Profiler

    profiler = Profiler(None)
    inspector = profiler._session.inspector
    if not traces:
        inspector.lines.at_generation_end = lambda generation: None  # type: ignore[method-assign]
    kept: list[Frame] = []
    n_generations = int(seconds / EACH_S)
    began = time.process_time()
    for index in range(n_generations):
        until = time.perf_counter() + EACH_S
        with profiler.generation(index):
            with profiler.phase("collect"):
                collect(kept)
            with profiler.phase("learn"):
                sum(range(200_000))
        time.sleep(max(0.0, until - time.perf_counter()))
    took = time.process_time() - began
    budget = profiler._session.budget
    pause_ns, job = budget.longest_pause
    found = profiler.findings()
    return {
        "each": took / n_generations, "slowed": budget.spent_ns["tracing"] / 1e9,
        "look": budget.spent_ns["lines"] / 1e9, "pause": pause_ns / 1e9, "pause_by": job,
        "named": any(finding.sites for finding in found),
    }  # fmt: skip


def measure_look(n_heap: int, n_new: int) -> dict[str, float]:
    """Trace one visit beside a heap of so many lists that keeps so many frames; return what it waits for at its end."""
    from phaseprof.native.places import read_places
    from phaseprof.probes import sites

    tracer, why = sites.find_tracer()
    if tracer is None:
        sys.exit(why)
    gc.disable()
    heap, kept = [[None] for _ in range(n_heap)], [Frame() for _ in range(n_new)]
    program = {"heap": heap, "kept": kept}
    table = read_places(program)
    (place,) = (place for place, root in table.roots.items() if root.name == "kept")
    sites.start_tracing(tracer)
    kept += [Frame() for _ in range(n_new)]
    began = time.perf_counter()
    made = sites.made_at(tracer, [place], program, limit_s=ASKING * MOST_S, done=tracer.stop)
    return {"pause": time.perf_counter() - began, "named": float(any(row.file == __file__ for row in made))}


def _arm(seconds: float, *, traces: bool) -> dict[str, Any]:
    command = [sys.executable, __file__, "--arm", "with" if traces else "without", "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _look(n_heap: int, n_new: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--look", str(n_heap), str(n_new)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    note = "the line is named" if figures["named"] else "no line is named"
    return {"name": f"pause after a visit that keeps {n_new:,} frames of five objects beside {n_heap:,} lists",
            "ours": figures["pause"], "most": MOST_S, "note": note}  # fmt: skip


def rows(quick: bool, seconds: float = 0.0, rounds: int = ROUNDS) -> list[dict[str, object]]:
    """Measure the arms in turns; six minutes, ten seconds if quick."""
    seconds, rounds = seconds or (SECONDS_QUICK if quick else SECONDS), 1 if quick else rounds
    pairs = [(_arm(seconds, traces=True), _arm(seconds, traces=False)) for _ in range(rounds)]
    ratios = [without["each"] / traced["each"] for traced, without in pairs]
    traced = [one for one, _ in pairs]
    ours, peer = (statistics.median(arm["each"] for arm in arms) for arms in zip(*pairs, strict=True))
    longest = max(traced, key=lambda one: float(one["pause"]))
    n_named = sum(one["named"] for one in traced)
    each = ", ".join(f"{100 * (1 / ratio - 1):+.1f} %" for ratio in ratios)
    note = f"{each}; lines named in {n_named} of {rounds} runs"
    return [
        {"name": "leaking loop with tracing: CPU time of a generation", "ours": ours, "peer": peer,
         "peer_name": "the same, never traced", "ratio": statistics.median(ratios), "bound": BOUND, "note": note},
        {"name": "what the traced phases took longer, in all", "ours": max(one["slowed"] for one in traced)},
        {"name": "looks for the lines, in all", "ours": max(one["look"] for one in traced)},
        {"name": "longest pause of the leaking loop", "ours": longest["pause"], "most": MOST_S,
         "note": f"wall time, by {longest['pause_by']}"},
        *(_look(*sizes) for sizes in (LOOKS_QUICK if quick else LOOKS)),
    ]  # fmt: skip


def main() -> None:
    """Measure one arm as JSON, or print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arm", choices=["with", "without"])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--look", nargs=2, type=int, metavar=("LISTS", "FRAMES"))
    args = parser.parse_args()
    if args.look:
        print(json.dumps(measure_look(*args.look)))
        return
    if args.arm:
        print(json.dumps(measure(args.seconds, traces=args.arm == "with")))
        return
    for row in rows(quick=False, seconds=args.seconds, rounds=args.rounds):
        peer = f" beside {row['peer'] * 1e3:.2f} ms" if "peer" in row else ""
        print(f"{row['name']}: {row['ours'] * 1e3:.2f} ms{peer} {row.get('note', '')}")


if __name__ == "__main__":
    main()
