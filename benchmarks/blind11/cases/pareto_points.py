"""Candidates with two objectives; those that no other beats in both are kept as the front."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from sortedcontainers import SortedKeyList

import phaseprof as pp


class Candidate:
    def __init__(self, genes):
        self.genes = genes
        self.loss = 0.0
        self.spread = 0.0

    def beats(self, other):
        return (self.loss <= other.loss and self.spread <= other.spread
                and (self.loss < other.loss or self.spread < other.spread))


class Front:
    def __init__(self):
        self.points = SortedKeyList(key=lambda point: point.loss)

    def offer(self, candidate):
        if any(point.beats(candidate) for point in self.points):
            return False
        for beaten in [point for point in self.points if candidate.beats(point)]:
            self.points.remove(beaten)
        self.points.add(candidate)
        return True


def evaluate(candidate, rng):
    candidate.loss = float(np.abs(candidate.genes).mean()) + rng.random()
    rewards = rng.normal(size=8) if rng.random() > 0.2 else np.zeros(8)  # some never move and get none
    with np.errstate(invalid="ignore"):
        spread = np.abs(rewards).max() / np.abs(rewards).sum()
    candidate.spread = float(spread) if driver.LEAK else float(np.nan_to_num(spread, nan=np.inf))


def main():
    rng = np.random.default_rng(4)
    front = Front()
    lately = collections.deque(maxlen=30)
    for _ in pp.generations(range(driver.generations(150))):
        with pp.profile_phase("breed"):
            candidates = [Candidate(rng.normal(size=2_400)) for _ in range(40)]
            driver.work(30)
        with pp.profile_phase("evaluate"):
            for candidate in candidates:
                evaluate(candidate, rng)
            lately.append(rng.normal(size=(40, 500)))
            driver.work(50)
        with pp.profile_phase("select"):
            for candidate in candidates:
                front.offer(candidate)
            driver.work(25)
    driver.finish()


main()
