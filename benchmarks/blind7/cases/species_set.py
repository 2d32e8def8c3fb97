"""Species in neuroevolution: a set of those alive, each hashed by its representative."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np

SPECIES, GENES = 14, 9_000


class Species:
    born = 0

    def __init__(self, representative):
        Species.born += 1
        self.number = Species.born
        self.representative = representative
        self.members = []
        self.age = 0

    def __hash__(self):
        return hash(self.representative[:8].tobytes())

    def __eq__(self, other):
        return isinstance(other, Species) and np.array_equal(self.representative[:8], other.representative[:8])


class SpeciesTable:
    def __init__(self):
        self.alive = set()
        self.order = []

    def found(self, species):
        self.alive.add(species)
        self.order.append(species)

    def drift(self, species, rng):
        """The representative follows its members."""
        if not driver.LEAK:
            self.alive.discard(species)
        species.representative = species.representative + rng.normal(size=GENES) * 0.1
        if not driver.LEAK:
            self.alive.add(species)

    def extinct(self):
        oldest = self.order.pop(0)
        self.alive.discard(oldest)


def main():
    rng = np.random.default_rng(5)
    table = SpeciesTable()
    hall = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("speciate"):
            for _ in range(7):
                table.found(Species(rng.normal(size=GENES)))
            driver.work(15)
        with pp.profile_phase("evaluate"):
            for species in table.order:
                species.members = rng.normal(size=40).tolist()
                species.age += 1
            for species in table.order[::2]:
                table.drift(species, rng)
            hall.append(rng.normal(size=24_000))
            del hall[:-24]
            driver.work(45)
        with pp.profile_phase("cull"):
            while len(table.order) > SPECIES:
                table.extinct()
            driver.work(15)
    driver.finish()


main()
