"""Of each generation's candidates the first that solves the task is taken, and the next one only if it fails later."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Candidate:
    def __init__(self, rng):
        self.weights = rng.normal(size=(24, 24))
        self.score = rng.random()


class Search:
    def __init__(self):
        self.successors = []
        self.solvers = deque(maxlen=25)

    def solve(self, candidates):
        solvers = filter(lambda candidate: candidate.score > 0.7, candidates)
        self.solvers.append(next(solvers).weights[0].copy())
        self.successors.append(solvers)
        if not driver.LEAK:
            del self.successors[:-6]


def main():
    rng = np.random.default_rng(37)
    search = Search()
    losses = np.zeros((20, 400))
    for generation in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("breed"):
            candidates = [Candidate(rng) for _ in range(50)]
            candidates[-1].score = 0.9
            driver.work(45)
        with pp.profile_phase("search"):
            search.solve(candidates)
            driver.work(40)
        with pp.profile_phase("train"):
            losses[generation % 20] = rng.random(400)
            driver.work(35)
    driver.finish()


main()
