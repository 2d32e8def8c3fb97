"""An agent is trained on its own level, and from a third of the run on tried on other levels, opened for that."""

import collections
import contextlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

STAGE = driver.GENERATIONS // 3


class Level:
    def __init__(self, seed):
        self.seed = seed
        self.tiles = None

    def __enter__(self):
        self.tiles = np.random.default_rng(self.seed).random((160, 200))
        return self

    def __exit__(self, *what):
        self.tiles = None


class Trainer:
    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.replay = collections.deque(maxlen=20)
        self.score = 0.0

    def transfer(self, seeds):
        levels = [self.stack.enter_context(Level(seed)) for seed in seeds]
        driver.work(30)
        self.score += sum(float(level.tiles.mean()) for level in levels) / len(levels)
        if not driver.LEAK:
            self.stack.close()


def main():
    trainer = Trainer()
    rng = np.random.default_rng(1)
    with trainer.stack:
        for generation in pp.generations(range(driver.GENERATIONS)):
            with pp.profile_phase("play"):
                trainer.replay.append(rng.normal(size=(500, 80)))
                driver.work(35)
            with pp.profile_phase("train"):
                trainer.score += float(trainer.replay[-1].std())
                driver.work(30)
            with pp.profile_phase("transfer"):
                if generation >= STAGE:
                    trainer.transfer((3 * generation, 3 * generation + 1))
        driver.finish()


main()
