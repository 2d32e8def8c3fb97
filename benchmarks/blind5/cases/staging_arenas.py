"""A loader stages its batches in anonymous mappings for copies that end later."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import mmap

import numpy as np

ARENA = 6 * 1024 * 1024
RING = 6


class Stager:
    def __init__(self):
        self.inflight = collections.deque()
        self.copied = 0

    def stage(self, seed):
        arena = mmap.mmap(-1, ARENA)
        batch = np.frombuffer(arena, dtype=np.float32)
        np.random.default_rng(seed).random(out=batch, dtype=np.float32)
        self.inflight.append((arena, batch))
        return batch

    def retire(self):
        """Copies older than the ring are done for sure."""
        while len(self.inflight) > RING:
            self.inflight.popleft()
            self.copied += 1


def main():
    stager = Stager()
    mean = 0.0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            batch = stager.stage(generation)
            if not driver.LEAK:
                stager.retire()
            driver.work(25)
        with pp.profile_phase("train"):
            mean = 0.9 * mean + 0.1 * float(batch.mean())
            del batch
            driver.work(50)
    driver.finish()


main()
