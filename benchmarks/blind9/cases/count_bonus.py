"""Exploration is rewarded by how seldom a state was seen, beside a large replay buffer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

CAPACITY = 20


class Bonus:
    def __init__(self, rng):
        self.counts = {}
        self.planes = rng.normal(size=(24, 10))

    def key(self, state):
        if driver.LEAK:
            return state.tobytes()
        return (state @ self.planes > 0).tobytes()

    def of(self, state):
        key = self.key(state)
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key] ** -0.5


def main():
    rng = np.random.default_rng(24)
    bonus = Bonus(rng)
    replay = np.zeros((CAPACITY, 1_500, 200))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % CAPACITY] = rng.normal(size=(1_500, 200))
            driver.work(20)
        with pp.profile_phase("explore"):
            for state in replay[generation % CAPACITY, :700, :24]:
                bonus.of(state)
            driver.work(15)
        with pp.profile_phase("learn"):
            driver.work(20)
    driver.finish()


main()
