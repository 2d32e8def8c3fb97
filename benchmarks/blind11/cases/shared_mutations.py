"""Genomes note the mutations that they went through, for the credit of the operators."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Mutation:
    __slots__ = ("after", "before", "gene")

    def __init__(self, gene, before, after):
        self.gene = gene
        self.before = before
        self.after = after


class Genome:
    mutations = []  # noqa: RUF012

    def __init__(self, genes):
        self.genes = genes
        self.fitness = 0.0
        if not driver.LEAK:
            self.mutations = []

    def child(self, rng, count=40):
        born = Genome(self.genes.copy())
        for gene in rng.integers(0, len(self.genes), count).tolist():
            before = float(born.genes[gene])
            after = before + rng.normal() / 10
            born.genes[gene] = after
            born.mutations.append(Mutation(gene, before, after))
        return born

    def credit(self):
        return sum(abs(m.after - m.before) for m in self.mutations[-40:])


def main():
    rng = np.random.default_rng(3)
    population = [Genome(rng.normal(size=300)) for _ in range(24)]
    traces = collections.deque(maxlen=24)
    for _ in pp.generations(range(driver.generations(80))):
        with pp.profile_phase("evaluate"):
            for genome in population:
                genome.fitness = -float(np.abs(genome.genes - 1).sum())
            traces.append(rng.normal(size=(200, 100)))
            driver.work(45)
        with pp.profile_phase("select"):
            population.sort(key=lambda genome: genome.fitness + 0.01 * genome.credit(), reverse=True)
            del population[8:]
            driver.work(10)
        with pp.profile_phase("mutate"):
            parents = population[:4]
            population = parents + [parents[i % 4].child(rng) for i in range(20)]
            driver.work(35)
    driver.finish()


main()
