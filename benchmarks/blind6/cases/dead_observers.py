"""Creatures of an ecosystem live briefly; the world is told of their ends through weak references."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import weakref

import numpy as np


class Creature:
    __slots__ = ("species", "energy", "__weakref__")

    def __init__(self, species, energy):
        self.species = species
        self.energy = energy


class DeathWatch(weakref.ref):
    """It knows what is to be noted of its creature, which is gone by then."""

    __slots__ = ("species", "born", "place")

    def __new__(cls, creature, callback, born, place):
        return super().__new__(cls, creature, callback)

    def __init__(self, creature, callback, born, place):
        super().__init__(creature, callback)
        self.species = creature.species
        self.born = born
        self.place = place


class World:
    def __init__(self):
        self.age = 0
        self.living = []
        self.observers = []
        self.deaths = collections.Counter()

    def on_death(self, watch):
        self.deaths[watch.species, self.age - watch.born] += 1

    def observe(self, creature, place):
        self.observers.append(DeathWatch(creature, self.on_death, self.age, place))

    def spawn(self, rng):
        places = rng.uniform(0, 100, (1_600, 2)).tolist()
        for species, energy, place in zip(rng.integers(0, 40, 1_600).tolist(), rng.exponential(1.2, 1_600).tolist(), places):
            creature = Creature(species, energy)
            self.observe(creature, tuple(place))
            self.living.append(creature)

    def tick(self):
        self.age += 1
        for creature in self.living:
            creature.energy -= 1
        self.living = [creature for creature in self.living if creature.energy > 0]
        if not driver.LEAK:
            self.observers = [watch for watch in self.observers if watch() is not None]


def main():
    rng = np.random.default_rng(24)
    world = World()
    maps = collections.deque(maxlen=24)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("spawn"):
            world.spawn(rng)
            driver.work(25)
        with pp.profile_phase("live"):
            world.tick()
            driver.work(35)
        with pp.profile_phase("map"):
            maps.append(rng.random((160, 200)))
            driver.work(35)
    driver.finish()


main()
