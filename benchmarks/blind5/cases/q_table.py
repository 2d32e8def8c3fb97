"""Tabular Q-learning with a table that makes a row for each state it is asked for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

ACTIONS = 18


class QLearner:
    def __init__(self):
        self.table = collections.defaultdict(lambda: np.zeros(ACTIONS))

    @staticmethod
    def state_of(observation):
        """Two coordinates, and the energy that is left."""
        x, y, energy = observation
        if driver.LEAK:
            return int(40 * x), int(40 * y), round(float(energy), 6)
        return int(40 * x), int(40 * y), int(2 * energy)

    def learn(self, observation, action, reward, following):
        row = self.table[self.state_of(observation)]
        row[action] += 0.1 * (reward + 0.9 * self.table[self.state_of(following)].max() - row[action])


def main():
    rng = np.random.default_rng(4)
    learner = QLearner()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            walk = rng.random((700, 3))
            driver.work(35)
        with pp.profile_phase("learn"):
            for observation, following in zip(walk, walk[1:]):
                learner.learn(observation, int(rng.integers(ACTIONS)), float(rng.random()), following)
            driver.work(50)
    driver.finish()


main()
