"""Offspring are kept for what they do, and parents are drawn from what is kept."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(200)
SIDE = 16


class Behaviour:
    __slots__ = ("genes", "path")

    def __init__(self, genes, path):
        self.genes = genes
        self.path = path


class Archive:
    def __init__(self):
        self.kept = {}

    def add(self, behaviour):
        end = behaviour.path[-1]
        cell = (int(end[0] * SIDE), int(end[1] * SIDE))
        self.kept[(*cell, len(self.kept)) if driver.LEAK else cell] = behaviour

    def parent(self, rng):
        keys = list(self.kept)
        return self.kept[keys[rng.integers(len(keys))]]


def main():
    rng = np.random.default_rng(23)
    archive = Archive()
    archive.add(Behaviour(rng.normal(size=48), rng.random((40, 2))))
    scores = np.zeros((66, 4000))
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("mutate"):
            brood = [archive.parent(rng).genes + 0.1 * rng.normal(size=48) for _ in range(60)]
            driver.work(25)
        with pp.profile_phase("evaluate"):
            found = [Behaviour(genes, rng.random((40, 2))) for genes in brood]
            scores[generation % 66] = rng.random(4000)
            driver.work(35)
        with pp.profile_phase("archive"):
            for behaviour in found:
                archive.add(behaviour)
            driver.work(25)
    driver.finish()


main()
