"""NEAT: innovation numbers of new links, looked up by all genomes of a generation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random

NODES = 400
MUTATIONS = 1500


class Innovation:
    __slots__ = ("number", "source", "target")

    def __init__(self, number, source, target):
        self.number = number
        self.source = source
        self.target = target


class Tracker:
    def __init__(self):
        self.counter = 0
        self.innovations = {}

    def new_generation(self):
        """The same mutation has the same number within a generation, and no longer than that."""
        if not driver.LEAK:
            self.innovations.clear()

    def number(self, generation, source, target):
        key = (generation, source, target)
        if key not in self.innovations:
            self.counter += 1
            self.innovations[key] = Innovation(self.counter, source, target)
        return self.innovations[key].number


def mutate(tracker, population, rng, generation):
    for _ in range(MUTATIONS):
        genome = rng.choice(population)
        source, target = rng.randrange(NODES), rng.randrange(NODES)
        genome[tracker.number(generation, source, target)] = rng.gauss(0, 1)
        if len(genome) > 120:
            del genome[next(iter(genome))]


def main():
    rng = random.Random(1)
    tracker = Tracker()
    population = [{} for _ in range(40)]
    for generation in pp.generations(range(driver.GENERATIONS)):
        tracker.new_generation()
        with pp.profile_phase("mutate"):
            mutate(tracker, population, rng, generation)
            driver.work(40)
        with pp.profile_phase("evaluate"):
            max(population, key=lambda genome: sum(genome.values()))
            driver.work(45)
    driver.finish()


main()
