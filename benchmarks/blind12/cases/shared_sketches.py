"""Sketches of the replay, which worker processes could read, are put into arrays of multiprocessing."""

import sys
from multiprocessing import sharedctypes
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

SIZE = 40_000


class Sketchbook:
    def __init__(self):
        self.sketches = {}

    def add(self, generation, values):
        sketch = sharedctypes.RawArray("d", SIZE)
        np.frombuffer(sketch)[:] = values
        self.sketches[generation] = sketch
        if not driver.LEAK:
            self.sketches.pop(generation - 10, None)

    def mean(self, generation):
        return np.frombuffer(self.sketches[generation]).mean()


def main():
    rng = np.random.default_rng(31)
    book = Sketchbook()
    replay = np.zeros((25, SIZE))
    for generation in pp.generations(range(driver.generations(110))):
        with pp.profile_phase("rollout"):
            replay[generation % 25] = rng.normal(size=SIZE)
            driver.wait(250)
            driver.work(20)
        with pp.profile_phase("sketch"):
            book.add(generation, np.sort(replay[generation % 25]))
            driver.work(30)
        with pp.profile_phase("train"):
            replay[generation % 25] -= book.mean(generation)
            driver.wait(260)
            driver.work(20)
    driver.finish()


main()
