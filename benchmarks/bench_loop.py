"""A training loop with everything on at the default budget, beside its own bare run, generation by generation.

    python benchmarks/bench_loop.py [--rounds 6] [--generations 20] [--scenario none]

The demo's trainer runs in a process for each arm, with the same seed and the same work: bare (no profiler exists), off
(instrumented, ``enabled=False``) and on (written to a folder, default budget).  The arms train one generation each in
turn, the first to go another one every time, so that a machine that slows down slows all of them; the profiler's clock
stands still while the others train.  A round's figure is the quotient of the loops' whole times, the row's the median
of the rounds.  CPU time counts our threads too, wall time what others do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loop_arm import ARMS

ROUNDS, ROUNDS_QUICK = 6, 1
GENERATIONS, GENERATIONS_QUICK = 20, 4
BOUND = 1.02
# A recording, its labels and a census in flight; the design promises 64 MB for ten million points.
MOST_OWN_BYTES = 64_000_000


@dataclass
class Visit:
    """One run of one arm: the sums over its generations."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_bytes: int = 0
    fitness: Sequence[float] = field(default=())


class Arm:
    """A process that trains a generation whenever it is told to."""

    def __init__(self, arm: str, scenario: str, folder: str) -> None:
        self.seen = Visit()
        command = [sys.executable, str(Path(__file__).with_name("loop_arm.py")), arm, scenario, folder]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def train(self) -> None:
        """Have one generation trained, and add what it took."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found = self._answer()
        self.seen.cpu_s += found["cpu_s"]
        self.seen.wall_s += found["wall_s"]

    def end(self) -> Visit:
        """Let the process end, and say what it came to."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        found = self._answer()
        self._process.wait()
        self.seen.peak_bytes, self.seen.fitness = found["peak_bytes"], found["fitness"]
        return self.seen

    def _answer(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"an arm of the loop ended early, with exit status {self._process.wait()}")
        return dict(json.loads(line))


def visit_all(scenario: str, generations: int) -> dict[str, Visit]:
    """Run every arm once, a generation each in turn.

    Raises:
        RuntimeError: an arm failed, or they did not do the same work.
    """
    with tempfile.TemporaryDirectory() as folder:
        arms = {arm: Arm(arm, scenario, str(Path(folder) / arm)) for arm in ARMS}
        order = list(arms.values())
        for _ in range(generations):
            for one in order:
                one.train()
            order.append(order.pop(0))
        seen = {arm: one.end() for arm, one in arms.items()}
    if len({tuple(one.fitness) for one in seen.values()}) != 1:
        raise RuntimeError("the arms trained differently, so their times say nothing")
    return seen


def quotients(ours: Sequence[float], bare: Sequence[float]) -> tuple[float, str]:
    """Return the median of the rounds' quotients, and their spread as text.

    The range is shown rather than an interval: rounds on a shared machine are not independent.
    """
    each = sorted(own / base for own, base in zip(ours, bare, strict=True))
    spread = f"{len(each)} round(s)"
    if len(each) > 1:
        spread += f", {each[0] - 1:+.1%} to {each[-1] - 1:+.1%}"
    return statistics.median(each), spread


def rows_of(scenario: str, generations: int, rounds: int) -> list[dict[str, object]]:
    """Measure one scenario; see ``rows``."""
    visits = [visit_all(scenario, generations) for _ in range(rounds)]
    measured: list[dict[str, object]] = []
    for arm, clock in (("on", "cpu_s"), ("on", "wall_s"), ("off", "cpu_s")):
        ours, base = ([getattr(one[which], clock) for one in visits] for which in (arm, "bare"))
        slower, spread = quotients(ours, base)
        measured.append(
            {
                "name": f"training loop, {scenario}, {generations} generations, {arm}: "
                f"{'CPU' if clock == 'cpu_s' else 'wall'} time",
                "ours": statistics.median(base) * slower,
                "peer": statistics.median(base),
                "peer_name": "the same loop, bare",
                "ratio": 1 / slower,
                "bound": 1 / BOUND if arm == "on" else None,
                "note": f"{slower - 1:+.1%}; {spread}",
            }
        )
    own = statistics.median(one["on"].peak_bytes - one["bare"].peak_bytes for one in visits)
    measured.append(
        {
            "name": f"training loop, {scenario}, on: resident peak over the bare loop's",
            "ours": max(0, own),
            "unit": "bytes",
            "peer": statistics.median(one["bare"].peak_bytes for one in visits),
            "peer_name": "resident peak of the bare loop",
            "most": MOST_OWN_BYTES,
        }
    )
    return measured


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure a healthy and a leaking run, the latter because a leak is looked at more closely.

    Returns:
        Rows of ``name``, ``ours`` and ``peer`` (seconds or bytes), ``peer_name``, ``ratio`` and ``bound``; none without
        torch. Takes half a minute if quick, else ten.
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
