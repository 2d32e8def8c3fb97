"""An archive of behaviours is an array of cells, each with the best solutions that came to it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Solution:
    def __init__(self, weights, fitness):
        self.weights = weights
        self.fitness = fitness


class Archive:
    def __init__(self):
        self.cells = np.empty((6, 6), dtype=object)
        for place in np.ndindex(self.cells.shape):
            self.cells[place] = []

    def add(self, solution, place):
        cell = self.cells[place]
        cell.append(solution)
        if driver.LEAK:
            cell.sort(key=lambda one: one.fitness)
        else:
            cell.sort(key=lambda one: one.fitness, reverse=True)
            del cell[12:]

    def parent(self, rng):
        cell = self.cells[tuple(rng.integers(6, size=2))]
        return cell[-1].weights if cell else np.zeros(700)


def main():
    rng = np.random.default_rng(97)
    archive = Archive()
    curve = np.zeros(35)
    for generation in pp.generations(range(driver.generations(124))):
        with pp.profile_phase("mutate"):
            offspring = [archive.parent(rng) * 0.9 + rng.normal(size=700) for _ in range(40)]
            driver.work(40)
        with pp.profile_phase("evaluate"):
            fitness = [float(np.abs(weights).mean()) for weights in offspring]
            curve[generation % 35] = max(fitness)
            driver.work(65)
        with pp.profile_phase("insert"):
            for weights, value in zip(offspring, fitness, strict=True):
                archive.add(Solution(weights, value), tuple(rng.integers(6, size=2)))
            driver.work(40)
    driver.finish()


main()
