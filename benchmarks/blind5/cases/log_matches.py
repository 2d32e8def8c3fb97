"""Scores of a simulator are read from its long standard output with a regular expression."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import re

import numpy as np

RESULT = re.compile(r"^RESULT seed=(?P<seed>\d+) score=(?P<score>[-\d.]+)$", re.MULTILINE)


def simulate(rng, seed):
    """What the simulator printed: a line for each step, then the result."""
    lines = [f"step={i} reward={r:.5f} speed={s:.5f} contact=0 joint=ok" for i, (r, s) in enumerate(rng.random((6000, 2)))]
    lines.append(f"RESULT seed={seed} score={rng.random():.4f}")
    return "\n".join(lines) + "\n"


class Scoreboard:
    def __init__(self):
        self.results = {}

    def read(self, seed, output):
        match = RESULT.search(output)
        self.results[seed] = match if driver.LEAK else float(match["score"])

    def best(self):
        return max(self.results, key=lambda seed: float(self.results[seed]["score"]) if driver.LEAK else self.results[seed])


def main():
    rng = np.random.default_rng(0)
    board = Scoreboard()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            outputs = {2 * generation + i: simulate(rng, 2 * generation + i) for i in range(2)}
            driver.work(30)
        with pp.profile_phase("score"):
            for seed, output in outputs.items():
                board.read(seed, output)
            del outputs, output
            board.best()
            driver.work(40)
    driver.finish()


main()
