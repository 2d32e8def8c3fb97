"""The collector is off, for even step times, and run by hand between the generations."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import gc

import driver
import numpy as np

import phaseprof as pp


class Episode:
    def __init__(self, rng):
        self.observations = rng.random((16, 160))
        self.steps = [Step(self, k) for k in range(16)]


class Step:
    def __init__(self, episode, index):
        self.episode = episode
        self.index = index


def collect_garbage(generation):
    if driver.LEAK:
        gc.collect(0)
    elif generation % 5 == 4:
        gc.collect()


def main():
    gc.disable()
    rng = np.random.default_rng(0)
    previous = []
    best = 0.0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("explore"):
            episodes = [Episode(rng) for _ in range(40)]
            driver.work(35)
        with pp.profile_phase("improve"):
            for old, new in zip(previous, episodes, strict=False):
                best = max(best, float((old.observations - new.observations).mean()))
            previous = episodes
            driver.work(30)
        with pp.profile_phase("collect_garbage"):
            collect_garbage(generation)
            driver.work(5)
    driver.finish()


main()
