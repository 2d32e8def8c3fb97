"""Environments are made and dropped; some have no window to close, and what goes wrong there is reported."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Environment:
    def __init__(self, rng):
        self.world = rng.normal(size=(120, 200))
        self.window = None

    def play(self):
        return float(np.tanh(self.world).mean())

    def __del__(self):
        self.window.close()


class Reports:
    def __init__(self):
        self.rows = []
        sys.unraisablehook = self.record

    def record(self, problem):
        self.rows.append(problem if driver.LEAK else (problem.exc_type.__name__, str(problem.exc_value)))


def main():
    rng = np.random.default_rng(2)
    reports = Reports()
    replay = collections.deque(maxlen=20)
    scores = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("spawn"):
            environments = [Environment(rng) for _ in range(2)]
            driver.work(20)
        with pp.profile_phase("play"):
            scores.append(sum(environment.play() for environment in environments))
            replay.append(rng.normal(size=(300, 90)))
            driver.work(45)
        with pp.profile_phase("teardown"):
            while environments:
                environments.pop()
            driver.work(20)
    print(len(reports.rows), "reports")
    driver.finish()
    sys.unraisablehook = lambda problem: None


main()
