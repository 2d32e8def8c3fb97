"""Rollouts on two threads, each with scratch of its own for every length of an episode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

JOBS, WIDTH = 8, 6


class Scratch(threading.local):
    def __init__(self):
        self.buffers = {}

    def of(self, steps):
        size = steps if driver.LEAK else -(-steps // 512) * 512
        if size not in self.buffers:
            self.buffers[size] = np.empty((size, WIDTH))
        return self.buffers[size][:steps]


class Rollouts:
    def __init__(self):
        self.scratch = Scratch()
        self.pool = ThreadPoolExecutor(2, thread_name_prefix="rollout")

    def one(self, steps, seed):
        buffer = self.scratch.of(steps)
        buffer[:] = np.random.default_rng(seed).random(buffer.shape)
        driver.work(4)
        return float(buffer.sum())

    def collect(self, rng):
        futures = [self.pool.submit(self.one, rng.randrange(600, 2_600), rng.randrange(1 << 20)) for _ in range(JOBS)]
        return [future.result() for future in futures]


def main():
    rng = random.Random(0)
    rollouts = Rollouts()
    returns = []
    table = {}
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            returns = (returns + rollouts.collect(rng))[-200:]
        with pp.profile_phase("advantages"):
            table[generation % 22] = np.full(30_000, returns[-1])
            driver.work(20)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()
    rollouts.pool.shutdown()


main()
