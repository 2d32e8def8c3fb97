"""Islands of a genetic algorithm which send each other their best; one that has converged rests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

GENES, MIGRANTS = 10_000, 3


class Genome:
    __slots__ = ("genes", "fitness", "born")

    def __init__(self, genes, born):
        self.genes = genes
        self.born = born
        self.fitness = float(-np.abs(genes[:200]).sum())

    def clone(self):
        return Genome(self.genes.copy(), self.born)


class Island:
    def __init__(self, name, rng):
        self.name = name
        self.rng = rng
        self.population = [Genome(rng.normal(size=GENES).astype(np.float32), 0) for _ in range(16)]
        self.inbox = collections.deque()
        self.resting = False

    def breed(self, generation):
        children = []
        for parent in self.population[:4]:
            noise = self.rng.normal(0, 0.02, GENES).astype(np.float32)
            children.append(Genome(parent.genes * 0.99 + noise, generation))
        while self.inbox:
            children.append(self.inbox.popleft())
        self.population = sorted(self.population + children, key=lambda one: one.fitness, reverse=True)[:16]

    def best(self):
        return self.population[:MIGRANTS]


class Archipelago:
    def __init__(self):
        seeds = np.random.SeedSequence(5).spawn(4)
        names = ("north", "east", "south", "west")
        self.islands = {name: Island(name, np.random.default_rng(seed)) for name, seed in zip(names, seeds)}

    def migrate(self):
        for sender in self.islands.values():
            for target in self.islands.values():
                if target is sender or (target.resting and not driver.LEAK):
                    continue
                target.inbox.extend(one.clone() for one in sender.best())


def main():
    archipelago = Archipelago()
    fame = collections.deque(maxlen=22)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("breed"):
            for island in archipelago.islands.values():
                if not island.resting:
                    island.breed(generation)
            driver.work(30)
        with pp.profile_phase("migrate"):
            archipelago.migrate()
            driver.work(25)
        with pp.profile_phase("judge"):
            top = max((island.population[0] for island in archipelago.islands.values()), key=lambda one: one.fitness)
            fame.append(np.tile(top.genes, 6))
            if generation == 21:
                archipelago.islands["east"].resting = True
            driver.work(40)
    driver.finish()


main()
