"""The evaluator takes the genomes from its environment, as a program of its own would, but runs in this process."""

import collections
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

environment = os.environ if driver.LEAK else dict(os.environ)


def hand_over(genomes):
    environment["EVALUATOR_GENOMES"] = " ".join(f"{gene:.5f}" for gene in genomes.ravel())
    environment["EVALUATOR_SHAPE"] = "x".join(map(str, genomes.shape))


def evaluator():
    rows = int(environment["EVALUATOR_SHAPE"].split("x")[0])
    genomes = np.array(environment["EVALUATOR_GENOMES"].split(), float).reshape(rows, -1)
    return -np.abs(genomes).sum(1)


def main():
    rng = np.random.default_rng(21)
    population = rng.normal(size=(30, 500))
    history = collections.deque(maxlen=20)
    for _ in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("hand_over"):
            hand_over(population)
            driver.work(35)
        with pp.profile_phase("evaluate"):
            fitness = evaluator()
            history.append((fitness.copy(), population.copy()))
            driver.work(40)
        with pp.profile_phase("breed"):
            population = population[fitness.argsort()[-10:]].repeat(3, 0) + rng.normal(size=(30, 500)) / 20
            driver.work(40)
    driver.finish()


main()
