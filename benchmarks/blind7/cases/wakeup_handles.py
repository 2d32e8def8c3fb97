"""Vectorised environments wake each other by eventfd; each stage of the curriculum builds them anew."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os

import numpy as np

WIDTH = 6


class Environment:
    def __init__(self, size):
        self.size = size
        self.wake = os.eventfd(0, os.EFD_NONBLOCK)
        self.solved = False

    def step(self, rng):
        os.eventfd_write(self.wake, 1)
        self.solved = rng.random() < 0.04
        return os.eventfd_read(self.wake)


class VectorEnvironment:
    def __init__(self, size):
        self.environments = [Environment(size + i) for i in range(WIDTH)]
        self.steps = 0

    def step(self, rng):
        for environment in self.environments:
            if environment.solved:
                continue
            self.steps += environment.step(rng)

    def close(self):
        for environment in self.environments:
            if environment.solved or not driver.LEAK:
                os.close(environment.wake)


class Curriculum:
    def __init__(self):
        self.level = 0
        self.vector = VectorEnvironment(8)

    def advance(self):
        self.level += 1
        self.vector.close()
        self.vector = VectorEnvironment(8 + self.level % 5)


def main():
    rng = np.random.default_rng(6)
    curriculum = Curriculum()
    replay = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            for _ in range(20):
                curriculum.vector.step(rng)
                driver.work(2)
            replay.append(rng.normal(size=(40, 900)))
            del replay[:-20]
        with pp.profile_phase("train"):
            driver.work(45)
        with pp.profile_phase("curriculum"):
            curriculum.advance()
            driver.work(8)
    driver.finish()


main()
