"""Creatures live on a grid, and every cell of it knows its world."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import gc
from collections import deque

import driver
import numpy as np

import phaseprof as pp

SIZE = 44


class Cell:
    __slots__ = ("energy", "trail", "world")

    def __init__(self, world, energy):
        self.world = world
        self.energy = energy
        self.trail = [energy]


class World:
    def __init__(self, rng):
        cells = [[Cell(self, float(value)) for value in row] for row in rng.random((SIZE, SIZE))]
        self.grid = cells
        if driver.LEAK:
            self.grid = np.empty((SIZE, SIZE), dtype=object)
            self.grid[:] = cells

    def live(self):
        total = 0.0
        for row in self.grid:
            for cell in row:
                cell.trail.append(cell.energy * 0.9)
                total += cell.energy
        return total


def main():
    rng = np.random.default_rng(20)
    fossils = deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("breed"):
            fossils.append(rng.normal(size=(100, 300)))
            driver.work(20)
        with pp.profile_phase("simulate"):
            for _ in range(2):
                World(rng).live()
            driver.work(15)
        with pp.profile_phase("select"):
            if generation % 6 == 5:
                gc.collect()
            driver.work(20)
    driver.finish()


main()
