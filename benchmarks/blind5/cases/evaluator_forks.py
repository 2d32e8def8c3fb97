"""Every generation forks a process which evaluates the champion on request."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import multiprocessing

import numpy as np

FLEET = 4


def serve(link, weights):
    rng = np.random.default_rng(9)
    while True:
        request = link.recv()
        if request is None:
            return
        link.send(float(sum(rng.random(len(weights)) @ weights for _ in range(request))))


class Evaluators:
    def __init__(self):
        self.context = multiprocessing.get_context("fork")
        self.fleet = []

    def launch(self, weights):
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=serve, args=(theirs, weights), daemon=True)
        process.start()
        theirs.close()
        self.fleet.append((process, ours))
        if not driver.LEAK and len(self.fleet) > FLEET:
            process, link = self.fleet.pop(0)
            link.send(None)
            process.join()
            process.close()
            link.close()

    def score(self):
        links = [link for _, link in self.fleet[-FLEET:]]
        for link in links:
            link.send(5)
        return max(link.recv() for link in links)


def main():
    evaluators = Evaluators()
    rng = np.random.default_rng(0)
    population = rng.random((16, 500))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("breed"):
            population += rng.normal(0, 0.01, population.shape)
            driver.work(40)
        with pp.profile_phase("evaluate"):
            evaluators.launch(population[generation % 16].copy())
            evaluators.score()
            driver.work(15)
    driver.finish()


main()
