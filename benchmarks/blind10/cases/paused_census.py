"""Creatures come and go, and statistics hang on them by weak keys; some creature is looked at now and then."""

import collections
import sys
import weakref
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(180)


class Creature:
    def __init__(self, genes):
        self.genes = genes

    def fitness(self):
        return float(np.tanh(self.genes).sum())


class Census:
    def __init__(self):
        self.stats = weakref.WeakKeyDictionary()
        self.walk = None

    def enter(self, creature, behaviour):
        self.stats[creature] = behaviour

    def look(self):
        walk = iter(self.stats)
        creature = next(walk)
        if driver.LEAK:
            self.walk = walk
        return self.stats[creature]


def main():
    rng = np.random.default_rng(20)
    census = Census()
    recent = collections.deque(maxlen=55)
    creatures = [Creature(rng.normal(size=32)) for _ in range(40)]
    seen = 0.0
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("reproduce"):
            creatures.sort(key=Creature.fitness, reverse=True)
            creatures = [Creature(rng.choice(creatures[:10]).genes + 0.1 * rng.normal(size=32)) for _ in range(40)]
            driver.work(30)
        with pp.profile_phase("evaluate"):
            for creature in creatures:
                census.enter(creature, rng.normal(size=600))
            recent.append(rng.normal(size=(150, 64)))
            driver.work(40)
        with pp.profile_phase("census"):
            seen += float(census.look().mean())
            driver.work(25)
    driver.finish()


main()
