"""The evaluation counts the cycles that its episodes make."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import contextlib
import gc

import numpy as np


class Node:
    def __init__(self, episode, observation):
        self.episode = episode
        self.observation = observation


class Episode:
    def __init__(self, rng, length):
        self.nodes = [Node(self, rng.normal(size=900)) for _ in range(length)]
        self.score = float(sum(node.observation[0] for node in self.nodes))


class Audit:
    def __init__(self):
        self.counts = []

    @contextlib.contextmanager
    def cycles(self):
        gc.collect()
        before = len(gc.garbage)
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            yield
        finally:
            gc.collect()
            gc.set_debug(0)
            self.counts.append(len(gc.garbage) - before)
            if not driver.LEAK:
                gc.garbage.clear()


def evaluate(rng):
    scores = []
    for _ in range(5):
        scores.append(Episode(rng, 16).score)
        driver.work(3)
    return scores


def main():
    rng = np.random.default_rng(0)
    audit = Audit()
    replay = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay.append(Episode(rng, 60))
            del replay[:-20]
            driver.work(30)
        with pp.profile_phase("train"):
            driver.work(30)
        with pp.profile_phase("evaluate"):
            with audit.cycles():
                evaluate(rng)
    driver.finish()


main()
