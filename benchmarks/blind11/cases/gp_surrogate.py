"""A Gaussian process guides the search; it is fitted to the points that were tried."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

WINDOW = 320


class Surrogate:
    def __init__(self, dimensions):
        self.points = np.empty((0, dimensions))
        self.values = np.empty(0)
        self.covariance = np.empty((0, 0))
        self.factor = np.empty((0, 0))

    def kernel(self, left, right):
        distances = (left**2).sum(1)[:, None] + (right**2).sum(1) - 2 * left @ right.T
        return np.exp(-distances / 2)

    def add(self, points, values):
        old, new = len(self.points), len(points)
        covariance = np.empty((old + new, old + new))
        covariance[:old, :old] = self.covariance
        covariance[old:, :old] = self.kernel(points, self.points)
        covariance[:old, old:] = covariance[old:, :old].T
        covariance[old:, old:] = self.kernel(points, points) + 0.1 * np.eye(new)
        self.points = np.concatenate([self.points, points])
        self.values = np.concatenate([self.values, values])
        self.covariance = covariance
        if not driver.LEAK:
            self.points, self.values = self.points[-WINDOW:].copy(), self.values[-WINDOW:].copy()
            self.covariance = covariance[-WINDOW:, -WINDOW:].copy()

    def fit(self):
        self.factor = np.linalg.cholesky(self.covariance)

    def predict(self, points):
        half = np.linalg.solve(self.factor, self.values)
        return self.kernel(points, self.points) @ np.linalg.solve(self.factor.T, half)


def main():
    rng = np.random.default_rng(14)
    surrogate = Surrogate(6)
    best = np.zeros(6)
    for generation in pp.generations(range(driver.generations(100))):
        with pp.profile_phase("try"):
            points = best + rng.normal(size=(16, 6))
            values = np.sin(points).sum(1) - np.abs(points).sum(1) / 5
            driver.work(50)
        with pp.profile_phase("fit"):
            surrogate.add(points, values)
            surrogate.fit()
            driver.work(25)
        with pp.profile_phase("propose"):
            proposals = best + rng.normal(size=(64, 6)) / 2
            if generation % 10 == 9:
                best = proposals[surrogate.predict(proposals).argmax()]
            driver.work(55)
    driver.finish()


main()
