"""Evaluations note the pauses of the collector, and on what they fell."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import gc
import time
from collections import deque

import driver
import numpy as np

import phaseprof as pp


class Pauses:
    def __init__(self):
        self.total = 0.0
        self.began = 0.0

    def watch(self, trajectories):
        def note(phase, info):
            if phase == "start":
                self.began = time.perf_counter()
            elif len(trajectories):
                self.total += time.perf_counter() - self.began

        gc.callbacks.append(note)
        return note

    def leave(self, note):
        if not driver.LEAK:
            gc.callbacks.remove(note)


def evaluate(pauses, rng):
    trajectories = rng.normal(size=(400, 200))
    note = pauses.watch(trajectories)
    scores = [[float(row.sum())] for row in trajectories]
    pauses.leave(note)
    return scores


def main():
    rng, pauses = np.random.default_rng(15), Pauses()
    replay = deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay.append(rng.normal(size=(300, 120)))
            driver.work(25)
        with pp.profile_phase("learn"):
            driver.work(25)
        if generation % 3 == 0:
            with pp.profile_phase("evaluate"):
                evaluate(pauses, rng)
                driver.work(20)
    driver.finish()


main()
