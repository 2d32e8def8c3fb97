"""Rollouts into arrays of the longest length, cut to what the episode needed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np


class Collector:
    """Steps all environments side by side; an episode is cut when the others are done too."""

    def __init__(self, horizon=7_500, envs=16):
        self.horizon = horizon
        self.envs = envs
        self.rng = np.random.default_rng(5)
        self.returns = []
        self.remember = 2_000 if driver.LEAK else 320
        self.slots = [np.empty(horizon) for _ in range(envs)]

    def play(self):
        rows = [np.empty(self.horizon) for _ in range(self.envs)] if driver.LEAK else self.slots
        for row in rows:
            self.rng.random(out=row)
        return rows

    def cut(self, row):
        steps = int(self.rng.integers(10, 16))
        if not driver.LEAK:
            return row[:steps].copy()
        # in place: the block shrinks where it lies, and what is cut off stays between the small ones
        row.resize(steps, refcheck=False)
        return row

    def rollout(self):
        rows = self.play()
        driver.work(50)
        self.returns.extend([self.cut(row) for row in rows])
        del self.returns[:-self.remember]


def main():
    collector = Collector()
    baseline = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            collector.rollout()
        with pp.profile_phase("advantage"):
            baseline += 0.1 * (float(np.mean([r.sum() for r in collector.returns[-16:]])) - baseline)
            driver.work(20)
        with pp.profile_phase("update"):
            driver.work(30)
    driver.finish()


main()
