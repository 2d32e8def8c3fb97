"""A training loop with everything on at the default budget, beside its own bare run, in pairs.

    python benchmarks/bench_loop.py [--pairs 12] [--generations 20] [--scenario none]

The demo's trainer runs in a fresh process each time, with the same seed and the same work, and the arms take turns in
going first: bare (no profiler exists), off (instrumented, ``enabled=False``) and on (written to a folder, default
budget). The figure is the median of the pairs' quotients; CPU time counts our threads too, wall time what others do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loop_arm import ARMS

PAIRS, PAIRS_QUICK = 8, 1
GENERATIONS, GENERATIONS_QUICK = 20, 4
BOUND = 1.02
# A recording, its labels and a census in flight; the design promises 64 MB for ten million points.
MOST_OWN_BYTES = 64_000_000


@dataclass(frozen=True)
class Visit:
    """One run of one arm."""

    cpu_s: float
    wall_s: float
    peak_bytes: int
    fitness: tuple[float, ...]


def visit(arm: str, scenario: str, generations: int) -> Visit:
    """Run one arm in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).with_name("loop_arm.py")), arm, scenario, str(generations)]
        done = subprocess.run([*command, str(Path(folder) / "run")], capture_output=True, check=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return Visit(found["cpu_s"], found["wall_s"], found["peak_bytes"], tuple(found["fitness"]))


def take_turns(scenario: str, generations: int, pairs: int) -> dict[str, list[Visit]]:
    """Run every arm ``pairs`` times, each time in the other order.

    Raises:
        RuntimeError: the arms did not do the same work.
    """
    seen: dict[str, list[Visit]] = {arm: [] for arm in ARMS}
    for turn in range(pairs):
        for arm in ARMS if turn % 2 == 0 else reversed(ARMS):
            seen[arm].append(visit(arm, scenario, generations))
    if len({one.fitness for visits in seen.values() for one in visits}) != 1:
        raise RuntimeError("the arms trained differently, so their times say nothing")
    return seen


def quotients(ours: Sequence[float], bare: Sequence[float]) -> tuple[float, str]:
    """Return the median of the pairs' quotients, and its spread as text.

    The middle half of the pairs is shown rather than an interval: pairs on a shared machine are not independent.
    """
    each = sorted(own / base for own, base in zip(ours, bare, strict=True))
    if len(each) < 4:
        return statistics.median(each), f"{len(each)} pair(s)"
    low, _, high = statistics.quantiles(each, n=4)
    return statistics.median(each), f"{len(each)} pairs, middle half {low - 1:+.1%} to {high - 1:+.1%}"


def rows_of(scenario: str, generations: int, pairs: int) -> list[dict[str, object]]:
    """Measure one scenario; see ``rows``."""
    seen = take_turns(scenario, generations, pairs)
    bare = seen["bare"]
    measured: list[dict[str, object]] = []
    for arm, clock in (("on", "cpu_s"), ("on", "wall_s"), ("off", "cpu_s")):
        ours, base = ([getattr(one, clock) for one in visits] for visits in (seen[arm], bare))
        slower, spread = quotients(ours, base)
        measured.append(
            {
                "name": f"training loop, {scenario}, {arm}: {'CPU' if clock == 'cpu_s' else 'wall'} time",
                "ours": statistics.median(base) * slower,
                "peer": statistics.median(base),
                "peer_name": "the same loop, bare",
                "ratio": 1 / slower,
                "bound": 1 / BOUND if arm == "on" else None,
                "note": f"{slower - 1:+.1%}; {spread}",
            }
        )
    own = statistics.median(a.peak_bytes - b.peak_bytes for a, b in zip(seen["on"], bare, strict=True))
    measured.append(
        {
            "name": f"training loop, {scenario}, on: resident peak over the bare loop's",
            "ours": max(0, own),
            "unit": "bytes",
            "peer": statistics.median(one.peak_bytes for one in bare),
            "peer_name": "resident peak of the bare loop",
            "most": MOST_OWN_BYTES,
        }
    )
    return measured


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure a healthy and a leaking run, the latter because a leak is looked at more closely.

    Returns:
        Rows of ``name``, ``ours`` and ``peer`` (seconds or bytes), ``peer_name``, ``ratio`` and ``bound``; none without
        torch. Takes half a minute if quick, else twenty.
    """
    try:
        import torch  # noqa: F401 - asked for on purpose: the trainer needs it
    except ImportError:
        return []
    if quick:
        return rows_of("none", GENERATIONS_QUICK, PAIRS_QUICK)
    return [row for scenario in ("none", "evaluate") for row in rows_of(scenario, GENERATIONS, PAIRS)]


def main() -> None:
    """Measure one scenario with the given numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--generations", type=int, default=GENERATIONS)
    parser.add_argument("--scenario", default="none")
    args = parser.parse_args()
    for row in rows_of(args.scenario, args.generations, args.pairs):
        print(row)


if __name__ == "__main__":
    main()
