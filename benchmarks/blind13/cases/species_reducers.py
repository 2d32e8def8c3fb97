"""Genomes of a species have a class of their own, which is pickled with the weights that the species has in common."""

import copyreg
import pickle
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Genome:
    def __init__(self, changes):
        self.changes = changes


def rebuild(name, changes):
    return name, changes


def found_species(number, rng):
    common = rng.normal(size=(110, 110))
    species = type(f"Species{number}", (Genome,), {})

    def reduce(genome):
        return rebuild, (species.__name__, genome.changes + common[0, : len(genome.changes)])

    copyreg.pickle(species, reduce)
    return species


def main():
    rng = np.random.default_rng(29)
    sent = deque(maxlen=40)
    for generation in pp.generations(range(driver.generations(68))):
        with pp.profile_phase("speciate"):
            founded = [found_species(2 * generation + k, rng) for k in range(2)]
            driver.work(25)
        with pp.profile_phase("mutate"):
            genomes = [species(rng.normal(size=100)) for species in founded for _ in range(8)]
            driver.work(50)
        with pp.profile_phase("send"):
            sent.extend(pickle.dumps(genome) for genome in genomes)
            if not driver.LEAK:
                for species in founded:
                    del copyreg.dispatch_table[species]
            driver.work(40)
    driver.finish()


main()
