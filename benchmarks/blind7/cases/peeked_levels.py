"""Prioritised level replay: the levels most worth learning from are played again."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random
from collections import defaultdict

import numpy as np

CANDIDATES, PLAYED, KEPT = 60, 6, 80


def prior():
    return np.full(1_024, 0.01)


class LevelSampler:
    def __init__(self):
        self.scores = defaultdict(prior)  # seed of the level -> regret by cell
        self.known = []

    def priority(self, seed):
        if driver.LEAK:
            return float(self.scores[seed].max())
        return float(self.scores[seed].max()) if seed in self.scores else 0.01

    def propose(self, rng):
        """New seeds and known ones compete."""
        fresh = [rng.randrange(1 << 30) for _ in range(CANDIDATES)]
        pool = fresh + rng.sample(self.known, min(20, len(self.known)))
        return sorted(pool, key=lambda seed: (self.priority(seed), seed))[-PLAYED:]

    def played(self, seed, regret):
        self.scores[seed] = 0.7 * self.scores[seed] + 0.3 * regret
        if seed not in self.known:
            self.known.append(seed)
        while len(self.known) > KEPT:
            self.scores.pop(self.known.pop(0), None)


def main():
    rng = random.Random(3)
    source = np.random.default_rng(3)
    sampler = LevelSampler()
    buffer = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("propose"):
            levels = sampler.propose(rng)
            levels[:3] = [rng.randrange(1 << 30) for _ in range(3)]
            driver.work(10)
        with pp.profile_phase("play"):
            for seed in levels:
                sampler.played(seed, source.random(1_024))
                driver.work(5)
            buffer.append(source.random(40_000))
            del buffer[:-16]
        with pp.profile_phase("learn"):
            driver.work(50)
    driver.finish()


main()
