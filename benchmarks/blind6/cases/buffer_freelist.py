"""Rollouts whose buffers go back to a free list when they are dropped."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

WIDTH = 8


class BufferPool:
    def __init__(self, most):
        self.most = most
        self.free = collections.defaultdict(list)
        self.hits = self.misses = 0

    def rows(self, length):
        return length if driver.LEAK else -(-length // 1024) * 1024

    def take(self, length):
        rows = self.rows(length)
        if self.free[rows]:
            self.hits += 1
            return self.free[rows].pop()
        self.misses += 1
        return np.zeros((rows, WIDTH), np.float32)

    def give(self, buffer):
        ready = self.free[len(buffer)]
        if len(ready) < self.most:
            ready.append(buffer)


POOL = BufferPool(most=2)


class Rollout:
    def __init__(self, length, rng):
        self.buffer = POOL.take(length)
        self.steps = self.buffer[:length]
        self.steps[:] = rng.random((length, WIDTH), np.float32)

    def __del__(self):
        self.steps = None
        POOL.give(self.buffer)


def main():
    rng = np.random.default_rng(10)
    values = np.zeros((24, 12_000, 2), np.float32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            rollouts = [Rollout(int(length), rng) for length in rng.integers(500, 8_000, 8)]
            driver.work(40)
        with pp.profile_phase("learn"):
            values[generation % 24] = sum(float(rollout.steps.mean()) for rollout in rollouts)
            rollouts = None
            driver.work(55)
    driver.finish()


main()
