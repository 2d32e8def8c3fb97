"""Particles of a simulator in a set of the active ones; those which fall out of the world are taken out of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import dataclasses

import numpy as np

GRAVITY = 0.05


@dataclasses.dataclass(unsafe_hash=driver.LEAK, eq=driver.LEAK)
class Particle:
    x: float
    y: float
    speed: float
    trail: np.ndarray = dataclasses.field(compare=False, repr=False)

    def move(self):
        self.speed += GRAVITY
        self.y -= self.speed
        self.trail[1:] = self.trail[:-1]
        self.trail[0] = self.x, self.y


class Emitter:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.active = set()
        self.moving = []

    def emit(self, count):
        for x, y in self.rng.uniform(0, 1, (count, 2)).tolist():
            particle = Particle(x, y, 0.0, np.zeros((120, 2)))
            self.active.add(particle)
            if y < 0.15:  # lies on the ground, and goes at once
                self.active.discard(particle)
            else:
                self.moving.append(particle)

    def settle(self):
        while self.moving:
            for particle in self.moving:
                particle.move()
            fallen = [particle for particle in self.moving if particle.y < 0]
            for particle in fallen:
                self.active.discard(particle)
            self.moving = [particle for particle in self.moving if particle.y >= 0]


def main():
    emitter = Emitter(27)
    fields = np.zeros((25, 150, 200))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("emit"):
            emitter.emit(260)
            driver.work(20)
        with pp.profile_phase("simulate"):
            emitter.settle()
            driver.work(30)
        with pp.profile_phase("learn"):
            fields[generation % 25] = emitter.rng.random((150, 200))
            driver.work(50)
    driver.finish()


main()
