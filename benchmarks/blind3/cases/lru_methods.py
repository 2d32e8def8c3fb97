"""lru_cache on a method of the environment: its cache keeps each environment that was ever asked."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import functools

import numpy as np

import phaseprof as pp


class GridEnv:
    def __init__(self, seed):
        self.grid = np.random.default_rng(seed).random((96, 96))
        self.position = 0

    @functools.lru_cache(maxsize=None if driver.LEAK else 512)
    def features(self, cell):
        row, column = divmod(cell, 96)
        return np.concatenate([self.grid[row], self.grid[:, column]])

    def step(self, action):
        self.position = (self.position * 7 + action + 1) % 20
        return float(self.features(self.position).sum())


def main():
    scores = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            driver.work(60)
        with pp.profile_phase("evaluate"):
            for k in range(4):
                env = GridEnv(4 * generation + k)
                scores.append(sum(env.step(action) for action in range(60)))
            del scores[:-20]
            driver.work(20)
        with pp.profile_phase("evolve"):
            driver.work(20)
    driver.finish()


main()
