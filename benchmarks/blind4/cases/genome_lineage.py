"""Neuro-evolution with crossover; each genome remembers where it came from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

from dataclasses import dataclass, field
from itertools import count

import numpy as np

_ids = count()


@dataclass
class Genome:
    weights: np.ndarray
    parents: tuple = ()
    fitness: float = 0.0
    uid: int = field(default_factory=lambda: next(_ids))


class Evolution:
    def __init__(self, size=10, genes=14_000):
        self.rng = np.random.default_rng(1)
        self.population = [Genome(self.rng.normal(size=genes)) for _ in range(size)]
        self.size = size

    def evaluate(self):
        for genome in self.population:
            genome.fitness = float(-np.abs(genome.weights[:500]).sum()) + self.rng.normal()
        driver.work(60)

    def cross(self, mother, father):
        mask = self.rng.random(mother.weights.shape) < 0.5
        weights = np.where(mask, mother.weights, father.weights)
        weights += self.rng.normal(scale=0.01, size=weights.shape)
        return Genome(weights, parents=(mother, father) if driver.LEAK else (mother.uid, father.uid))

    def reproduce(self):
        best = sorted(self.population, key=lambda g: g.fitness, reverse=True)[:4]
        self.population = [self.cross(best[i % 4], best[(i + 1) % 4]) for i in range(self.size)]
        driver.work(40)


def main():
    evolution = Evolution()
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            with pp.profile_phase("evaluate"):
                evolution.evaluate()
            with pp.profile_phase("reproduce"):
                evolution.reproduce()
    driver.finish()


main()
