"""Hyper-parameters suggested by a surrogate with a kernel matrix, extended by each batch of trials."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

BATCH, KNOBS, WINDOW = 32, 12, 640


class Surrogate:
    def __init__(self):
        self.points = np.zeros((0, KNOBS))
        self.scores = np.zeros(0)
        self.kernel = np.zeros((0, 0))

    def _between(self, a, b):
        distance = ((a ** 2).sum(1)[:, None] + (b ** 2).sum(1)[None] - 2 * a @ b.T).clip(0)
        return np.exp(-distance / KNOBS)

    def fit(self, points, scores):
        cross = self._between(self.points, points)
        self.kernel = np.block([[self.kernel, cross], [cross.T, self._between(points, points)]])
        self.points = np.concatenate([self.points, points])
        self.scores = np.concatenate([self.scores, scores])
        if not driver.LEAK and len(self.points) > WINDOW:
            self.kernel = self.kernel[-WINDOW:, -WINDOW:].copy()
            self.points = self.points[-WINDOW:]
            self.scores = self.scores[-WINDOW:]

    def suggest(self, rng):
        candidates = rng.uniform(-1, 1, (BATCH * 2, KNOBS))
        if not len(self.points):
            return candidates[:BATCH]
        density = self.kernel[-BATCH * 4:].mean(0)
        near = self._between(candidates, self.points) / (0.1 + density)
        guess = near @ self.scores / near.sum(1)
        return candidates[np.argsort(-guess)[:BATCH]]


def main():
    rng = np.random.default_rng(19)
    surrogate = Surrogate()
    curves = collections.deque(maxlen=500)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("suggest"):
            points = surrogate.suggest(rng)
            driver.work(10)
        with pp.profile_phase("evaluate"):
            scores = -(points ** 2).sum(1) + rng.normal(0, 0.1, BATCH)
            curves.extend(np.cumsum(rng.normal(size=600)) for _ in range(BATCH))
            driver.work(65)
        with pp.profile_phase("fit"):
            surrogate.fit(points, scores)
            driver.work(20)
    driver.finish()


main()
