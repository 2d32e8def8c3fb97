"""The champion of each generation is kept as a row of the population's array: a view that keeps the whole array."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections

import numpy as np

import phaseprof as pp


class Evolution:
    def __init__(self):
        self.rng = np.random.default_rng(2)
        self.population = self.rng.normal(size=(256, 400))
        self.champions = [] if driver.LEAK else collections.deque(maxlen=12)

    @pp.profile_phase("evaluate")
    def evaluate(self):
        self.fitness = -(self.population ** 2).sum(axis=1)
        driver.work(40)

    @pp.profile_phase("select")
    def select(self, generation):
        best = int(self.fitness.argmax())
        self.champions.append(self.population[best])
        size = 320 if generation % 2 else 192  # large and small in turn
        parents = self.rng.integers(len(self.population), size=size)
        self.population = self.population[parents]

    @pp.profile_phase("mutate")
    def mutate(self):
        self.population += self.rng.normal(scale=0.05, size=self.population.shape)
        driver.work(45)


def main():
    evolution = Evolution()
    for generation in pp.generations(range(driver.GENERATIONS)):
        evolution.evaluate()
        evolution.select(generation)
        evolution.mutate()
    driver.finish()


main()
