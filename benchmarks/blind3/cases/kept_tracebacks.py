"""Candidates that diverge are caught, and their exceptions are kept, with tracebacks, frames and the arrays in these."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections
import traceback

import numpy as np

import phaseprof as pp


class Diverged(Exception):
    pass


def integrate(candidate, steps):
    path = np.empty((steps, 40))
    position = candidate.copy()
    for step in range(steps):
        position = position * 1.01 + candidate
        path[step] = position
        if abs(position[0]) > 40:
            raise Diverged(f"after {step} steps")
    return path


class Search:
    def __init__(self):
        self.rng = np.random.default_rng(5)
        self.failures = [] if driver.LEAK else collections.deque(maxlen=60)
        self.candidates = []

    @pp.profile_phase("propose")
    def propose(self):
        self.candidates = [self.rng.normal(size=40) + (3 if k % 2 else 0) for k in range(8)]
        driver.work(20)

    @pp.profile_phase("evaluate")
    def evaluate(self):
        for candidate in self.candidates:
            try:
                integrate(candidate * (1 if candidate[1] > 1 else 0.01), 500)
            except Diverged as error:
                if driver.LEAK:
                    self.failures.append(error)
                else:
                    self.failures.append(traceback.format_exc())
        driver.work(30)

    @pp.profile_phase("update")
    def update(self):
        driver.work(50)


def main():
    search = Search()
    for _ in pp.generations(range(driver.GENERATIONS)):
        search.propose()
        search.evaluate()
        search.update()
    driver.finish()


main()
