"""Levels return to a free list as they die, for the next of their size."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

FREE = {}


class Level:
    def __init__(self, cells):
        self.cells = np.ones(cells)

    def __del__(self):
        shelf = FREE.setdefault(len(self.cells), [])
        if len(shelf) < 4:
            shelf.append(self)


def build(size):
    if not driver.LEAK:
        size = 10_000 * (1 + size // 10_000)
    shelf = FREE.get(size)
    return shelf.pop() if shelf else Level(size)


def main():
    rng = np.random.default_rng(16)
    population, replay = [], np.zeros((20, 30_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("build"):
            population += [build(int(size)) for size in rng.integers(20_000, 40_000, 3)]
            driver.work(15)
        with pp.profile_phase("play"):
            replay[generation % 20] = rng.normal(size=30_000)
            driver.work(30)
        with pp.profile_phase("select"):
            del population[:-6]
            driver.work(15)
    driver.finish()


main()
