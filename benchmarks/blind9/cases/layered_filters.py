"""A curriculum draws tasks from an endless stream, less those near to what was mastered lately."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import functools
import itertools
from collections import deque

import driver
import numpy as np

import phaseprof as pp


def tasks(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=64) for _ in itertools.count())


def unlike(mastered, task):
    return float(np.abs(mastered[0] - task).mean()) > 0.05


class Curriculum:
    def __init__(self):
        self.source = tasks(5)
        self.stream = self.source
        self.recent = deque(maxlen=4)

    def master(self, trajectory):
        if driver.LEAK:
            self.stream = filter(functools.partial(unlike, trajectory), self.stream)
            return
        self.recent.append(trajectory)
        self.stream = self.source
        for one in self.recent:
            self.stream = filter(functools.partial(unlike, one), self.stream)

    def draw(self, count):
        return list(itertools.islice(self.stream, count))


def main():
    rng, curriculum = np.random.default_rng(6), Curriculum()
    replay = deque(maxlen=22)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("draw"):
            chosen = curriculum.draw(20)
            driver.work(15)
        with pp.profile_phase("practise"):
            replay.append(rng.normal(size=(500, 64)))
            driver.work(30)
        with pp.profile_phase("assess"):
            curriculum.master(np.concatenate([chosen, rng.normal(size=(900, 64))]))
            driver.work(15)
    driver.finish()


main()
