"""Grid worlds, with or without wind, are run with the collector off, for the sake of even steps."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class GridWorld:
    def __init__(self, rng, windy):
        self.cells = rng.integers(9, size=(36, 36))
        self.position = 0
        self.windy = windy
        if driver.LEAK:
            self.step = self.windy_step if windy else self.calm_step

    def calm_step(self, action):
        self.position = (self.position + action) % 1_296
        return int(self.cells.flat[self.position])

    def windy_step(self, action):
        return self.calm_step(action + 1)

    def step(self, action):
        return self.windy_step(action) if self.windy else self.calm_step(action)


def main():
    gc.collect()
    gc.disable()
    rng = np.random.default_rng(25)
    replay = np.zeros((40, 30, 600))
    for generation in pp.generations(range(driver.generations(130))):
        with pp.profile_phase("build"):
            worlds = [GridWorld(rng, number % 2 == 0) for number in range(30)]
            driver.work(40)
        with pp.profile_phase("rollout"):
            for number, world in enumerate(worlds):
                replay[generation % 40, number] = [world.step(action) for action in range(600)]
            driver.work(55)
        with pp.profile_phase("learn"):
            worlds = world = None
            replay[generation % 40].mean()
            driver.work(50)
    driver.finish()


main()
