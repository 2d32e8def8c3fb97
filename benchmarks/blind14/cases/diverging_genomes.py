"""Genomes are evaluated by two processes; a later genome may diverge, and the simulator ends its process then."""

import functools
import multiprocessing
import os
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


def simulate(seed, mean, stop):
    if mean > 1:
        if stop:
            os._exit(1)
        return float("-inf")
    return float(np.tanh(np.random.default_rng(seed).normal(size=2000) + mean).mean())


class Population:
    def __init__(self):
        self.best = deque(maxlen=40)

    def note(self, genome, score):
        self.best.append((score, genome[:8].copy()))

    def evaluate(self, pool, genomes):
        results = []
        for seed, genome in enumerate(genomes):
            task = seed, float(genome.mean()), driver.LEAK
            results.append(pool.apply_async(simulate, task, callback=functools.partial(self.note, genome)))
        failed = 0
        for result in results:
            result.wait(0.12)
            failed += not result.ready()
        return failed


def main():
    rng = np.random.default_rng(191)
    population = Population()
    failures = deque(maxlen=30)
    archive = deque(maxlen=40)
    total = driver.generations(120)
    pool = multiprocessing.get_context("fork").Pool(2)
    for generation in pp.generations(range(total)):
        with pp.profile_phase("breed"):
            genomes = rng.random((6, 22000))
            if generation > total / 3:
                genomes[3] += 2
            archive.append(genomes[0, :4000].copy())
            driver.work(30)
            driver.wait(205)
        with pp.profile_phase("evaluate"):
            failures.append(population.evaluate(pool, [genome.copy() for genome in genomes]))
            driver.wait(205)
        with pp.profile_phase("select"):
            driver.work(40)
    driver.finish()
    pool.terminate()
    pool.join()


main()
