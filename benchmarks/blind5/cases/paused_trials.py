"""Successive halving: trials are generators, paused between the rungs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np

RUNGS = 3
STARTED = 4


def trial(seed):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(40_000)
    rate = 10 ** rng.uniform(-3, -1)
    while True:
        weights = weights * (1 - rate)
        yield float(np.abs(weights[:1000]).mean())


class Halving:
    def __init__(self):
        self.rungs = [{} for _ in range(RUNGS)]
        self.scores = {}
        self.best = float("inf")

    def start(self, seeds):
        for seed in seeds:
            self.rungs[0][seed] = trial(seed)

    def run(self):
        for rung in self.rungs:
            for seed in list(rung):
                if seed not in self.scores:
                    self.scores[seed] = next(rung[seed])

    def promote(self):
        """The better half of those not yet judged goes up; the others stay as they are."""
        for level in reversed(range(RUNGS)):
            rung = self.rungs[level]
            fresh = sorted((seed for seed in rung if seed in self.scores), key=self.scores.get)
            for place, seed in enumerate(fresh):
                score = self.scores.pop(seed)
                self.best = min(self.best, score)
                if level + 1 < RUNGS and place < len(fresh) // 2:
                    self.rungs[level + 1][seed] = rung.pop(seed)
                elif not driver.LEAK:
                    rung.pop(seed).close()
                else:
                    self.scores[seed] = float("inf")


def main():
    halving = Halving()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("search"):
            with pp.profile_phase("start"):
                halving.start(range(STARTED * generation, STARTED * (generation + 1)))
            with pp.profile_phase("run"):
                halving.run()
                driver.work(60)
            with pp.profile_phase("promote"):
                halving.promote()
                driver.work(20)
    driver.finish()


main()
