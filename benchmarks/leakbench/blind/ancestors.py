"""Every individual remembers its parent itself, so the whole line of ancestors stays with its weights."""

import io
import time

import numpy as np

from leakbench import Case, Truth


class Individual:
    def __init__(self, weights, parent):
        self.weights = weights
        self.parent = parent
        self.fitness = 0.0


class Evolution:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(5)
        self.population = [Individual(self.rng.normal(size=60_000), None) for _ in range(6)]

    def generation(self, pp, index):
        with pp.phase("evaluate"):
            for individual in self.population:
                individual.fitness = float(individual.weights[:100].sum())
            time.sleep(0.1)
        with pp.phase("breed"):
            with pp.phase("select"):
                parents = sorted(self.population, key=lambda one: -one.fitness)[:2]
                time.sleep(0.05)
            with pp.phase("mutate"):
                self.population = [
                    Individual(
                        parents[n % 2].weights + self.rng.normal(size=60_000),
                        parents[n % 2] if self.leaky else id(parents[n % 2]),
                    )
                    for n in range(6)
                ]
                time.sleep(0.1)
        if index % 6 == 5:
            with pp.phase("checkpoint"):
                file = io.BytesIO()
                np.savez(file, *[one.weights for one in self.population])
        with pp.phase("report"):
            max(one.fitness for one in parents)
            time.sleep(0.1)


CASE = Case(
    name="blind_ancestors",
    build=Evolution,
    truth=Truth(
        phase="mutate",
        kind="arrays",
        subject="ndarray",
        holder=("population", "parent"),
        also=("objects", "native"),
        subject_also=("Individual",),
    ),
    source="synthetic",
    generations=24,
)
