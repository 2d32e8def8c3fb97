"""Levels of a game are made by seed and difficulty, and a level asked for twice is the same object."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from collections import OrderedDict, deque

import driver
import numpy as np

import phaseprof as pp


class PerArguments(type):
    def __init__(cls, name, bases, body):
        super().__init__(name, bases, body)
        cls._instances = OrderedDict()

    def __call__(cls, *args):
        if args not in cls._instances:
            cls._instances[args] = super().__call__(*args)
        if not driver.LEAK and len(cls._instances) > 12:
            cls._instances.popitem(last=False)
        return cls._instances[args]


class Level(metaclass=PerArguments):
    def __init__(self, seed, difficulty):
        rng = np.random.default_rng(seed)
        self.tiles = rng.random((160, 180)) < difficulty
        self.heights = rng.normal(size=(160, 180))

    def play(self, steps):
        return float(self.heights[self.tiles][:steps].sum())


def main():
    rng = np.random.default_rng(4)
    scores = deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("levels"):
            levels = [Level(2 * generation + i, 0.3) for i in range(3)]
            driver.work(15)
        with pp.profile_phase("play"):
            scores.append((rng.normal(size=30_000), [level.play(100) for level in levels]))
            driver.work(30)
        with pp.profile_phase("evolve"):
            driver.work(20)
    driver.finish()


main()
