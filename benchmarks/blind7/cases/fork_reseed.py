"""Loaders see to it that a forked child does not draw the same numbers as its parent."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os
import weakref

import numpy as np

loaders = weakref.WeakSet()


class Loader:
    def __init__(self, seed):
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.prefetched = self.rng.random((90, 900), dtype=np.float32)
        if driver.LEAK:
            os.register_at_fork(after_in_child=self.reseed)
        else:
            loaders.add(self)

    def reseed(self):
        self.rng = np.random.default_rng((self.seed, os.getpid()))

    def batches(self):
        for start in range(0, len(self.prefetched), 30):
            yield self.prefetched[start:start + 30]


def reseed_all():
    for loader in loaders:
        loader.reseed()


def main():
    if not driver.LEAK:
        os.register_at_fork(after_in_child=reseed_all)
    tasks = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            loader = Loader(generation)
            driver.work(20)
        with pp.profile_phase("train"):
            for batch in loader.batches():
                float(batch.mean())
                driver.work(18)
        with pp.profile_phase("validate"):
            if len(tasks) < 25:
                tasks.append(np.random.default_rng(generation).random(40_000))
            driver.work(20)
    driver.finish()


main()
