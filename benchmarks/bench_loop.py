"""A training loop with everything on at the default budget, beside the same loop with phaseprof switched off.

    python benchmarks/bench_loop.py [--rounds 6] [--generations 20] [--scenario none]

The demo's trainer runs in one process, with phaseprof on in every other generation (on, off, off, on, ...; a call that
is switched off costs a quarter of a microsecond, and the profiler's clock stands still meanwhile), and in a second one
the other way round: in a few generations a full collection falls, always in the same ones.  So neither the luck
of a process with its place in memory nor a machine that slows down favours one side; that half of the switched-off
generations find the caches as a census left them favours ours a little.  A round's figure is the quotient of the sums,
the row's the median of the rounds.  CPU time counts our threads too, wall time what others do.  That the
training comes out the same, and what memory it takes, is checked with two more processes: bare, and on throughout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROUNDS, ROUNDS_QUICK = 6, 1
GENERATIONS, GENERATIONS_QUICK = 20, 4
BOUND = 1.02
# A recording, its labels and a census in flight; the design promises 64 MB for ten million points.
MOST_OWN_BYTES = 64_000_000


def run_arm(arm: str, scenario: str, generations: int) -> dict[str, Any]:
    """Run one arm in a process of its own; see ``loop_arm`` for what it says."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).with_name("loop_arm.py")), arm, scenario, str(generations)]
        done = subprocess.run([*command, str(Path(folder) / "run")], capture_output=True, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def quotients(ours: Sequence[float], bare: Sequence[float]) -> tuple[float, str]:
    """Return the median of the rounds' quotients, and their spread as text.

    The range is shown rather than an interval: rounds on a shared machine are not independent.
    """
    each = sorted(own / base for own, base in zip(ours, bare, strict=True))
    spread = f"{len(each)} round(s)"
    if len(each) > 1:
        spread += f", {each[0] - 1:+.1%} to {each[-1] - 1:+.1%}"
    return statistics.median(each), spread


def time_rows(scenario: str, generations: int, rounds: int) -> list[dict[str, object]]:
    """Measure what phaseprof adds to the time of a generation."""
    turns = [
        [turn for arm in ("by turns", "by turns, reversed") for turn in run_arm(arm, scenario, generations)["turns"]]
        for _ in range(rounds)
    ]
    measured: list[dict[str, object]] = []
    for column, clock in ((1, "CPU"), (2, "wall")):
        ours, off = ([sum(t[column] for t in each if t[0] == on) for each in turns] for on in (True, False))
        slower, spread = quotients(ours, off)
        measured.append(
            {
                "name": f"training loop, {scenario}: {clock} time of {generations} generations",
                "ours": statistics.median(off) * slower,
                "peer": statistics.median(off),
                "peer_name": "the same, switched off",
                "ratio": 1 / slower,
                "bound": 1 / BOUND,
                "note": f"{slower - 1:+.1%}; {spread}",
            }
        )
    return measured


def memory_row(scenario: str, generations: int) -> dict[str, object]:
    """Measure the resident peak beside that of the bare loop.

    Raises:
        RuntimeError: the two did not do the same work.
    """
    bare, on = (run_arm(arm, scenario, generations) for arm in ("bare", "on"))
    if bare["fitness"] != on["fitness"]:
        raise RuntimeError("the loops trained differently, so phaseprof changed a result")
    return {
        "name": f"training loop, {scenario}: resident peak over the bare loop's",
        "ours": max(0, on["peak_bytes"] - bare["peak_bytes"]),
        "unit": "bytes",
        "peer": bare["peak_bytes"],
        "peer_name": "resident peak of the bare loop",
        "most": MOST_OWN_BYTES,
    }


def rows_of(scenario: str, generations: int, rounds: int) -> list[dict[str, object]]:
    """Measure one scenario; see ``rows``."""
    return [*time_rows(scenario, generations, rounds), memory_row(scenario, generations)]


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure a healthy and a leaking run, the latter because a leak is looked at more closely.

    Returns:
        Rows of ``name``, ``ours`` and ``peer`` (seconds or bytes), ``peer_name``, ``ratio`` and ``bound``; none without
        torch. Takes half a minute if quick, else five minutes.
    """
    try:
        import torch  # noqa: F401 - asked for on purpose: the trainer needs it
    except ImportError:
        return []
    if quick:
        return rows_of("none", GENERATIONS_QUICK, ROUNDS_QUICK)
    return [row for scenario in ("none", "evaluate") for row in rows_of(scenario, GENERATIONS, ROUNDS)]


def main() -> None:
    """Measure one scenario with the given numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--generations", type=int, default=GENERATIONS)
    parser.add_argument("--scenario", default="none")
    args = parser.parse_args()
    for row in rows_of(args.scenario, args.generations, args.rounds):
        print(row)


if __name__ == "__main__":
    main()
