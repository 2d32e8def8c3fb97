"""Episodes of different lengths are put into one long array of steps, one behind the other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Steps:
    def __init__(self, capacity, width):
        self.rows = np.zeros((capacity, width), dtype=np.float32)
        self.position = 0
        self.filled = 0

    def add(self, episode):
        missing = self.position + len(episode) - len(self.rows)
        if missing > 0:
            if driver.LEAK:
                self.rows = np.concatenate([self.rows, np.ones((missing, self.rows.shape[1]), np.float32)])
            else:
                self.position = 0
        self.rows[self.position : self.position + len(episode)] = episode
        self.position += len(episode)
        self.filled = max(self.filled, self.position)

    def sample(self, rng, number):
        return self.rows[rng.integers(self.filled, size=number)]


def main():
    rng = np.random.default_rng(89)
    steps = Steps(24_000, 48)
    means = np.zeros(30)
    total = driver.generations(120)
    for generation in pp.generations(range(total)):
        with pp.profile_phase("collect"):
            longest = 180 + min(120, 4 * generation)
            for _ in range(5):
                steps.add(rng.random((rng.integers(120, longest), 48)))
            driver.work(70)
        with pp.profile_phase("learn"):
            means[generation % 30] = steps.sample(rng, 256).mean()
            driver.work(75)
    driver.finish()


main()
