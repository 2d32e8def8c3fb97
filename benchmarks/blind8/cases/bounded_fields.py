"""Genomes whose genes are checked by a descriptor, mutated and selected."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

GENES, POPULATION = 1_200, 80


class Bounded:
    """A field which is clipped when it is set."""

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.values = {}

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, genome, owner=None):
        if driver.LEAK:
            return self.values[genome]
        return genome.__dict__[self.name]

    def __set__(self, genome, value):
        value = np.clip(value, self.low, self.high)
        if driver.LEAK:
            self.values[genome] = value
        else:
            genome.__dict__[self.name] = value


class Genome:
    genes = Bounded(-1.0, 1.0)

    def __init__(self, genes):
        self.genes = genes


def main():
    rng = np.random.default_rng(0)
    population = [Genome(rng.normal(size=GENES)) for _ in range(POPULATION)]
    novelty = np.zeros((20, 100_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("evolve"):
            with pp.profile_phase("select"):
                population.sort(key=lambda genome: genome.genes.sum())
                parents = population[:POPULATION // 2]
                driver.work(15)
            with pp.profile_phase("mutate"):
                children = [Genome(parent.genes + 0.1 * rng.normal(size=GENES)) for parent in parents]
                driver.work(25)
            population = parents + children
        with pp.profile_phase("novelty"):
            novelty[generation % 20] = np.resize(population[0].genes, 100_000)
            driver.work(30)
    driver.finish()


main()
