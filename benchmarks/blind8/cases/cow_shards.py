"""Offline reinforcement learning from shards on disk, mapped copy-on-write and normalised in place."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import os
import tempfile

import driver
import numpy as np

import phaseprof as pp

SHARDS, ROWS, WIDTH = 8, 4_000, 64


class Shards:
    def __init__(self, folder):
        self.paths = [os.path.join(folder, f"shard{k}.npy") for k in range(SHARDS)]
        self.opened = {}
        rng = np.random.default_rng(0)
        for path in self.paths:
            np.save(path, rng.normal(size=(ROWS, WIDTH)).astype(np.float32))

    def get(self, epoch, index):
        key = (epoch, index) if driver.LEAK else index
        if key not in self.opened:
            shard = np.load(self.paths[index], mmap_mode="c")
            shard -= shard.mean(0)
            shard /= shard.std(0)
            self.opened[key] = shard
        return self.opened[key]


def main():
    rng = np.random.default_rng(1)
    weights = np.zeros(WIDTH, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(folder)
        for generation in pp.generations(range(driver.GENERATIONS)):
            epoch, index = divmod(generation, SHARDS)
            with pp.profile_phase("load"):
                shard = shards.get(epoch, index)
                driver.work(25)
            with pp.profile_phase("fit"):
                batch = shard[rng.integers(0, ROWS, 512)]
                weights += 0.01 * batch.mean(0)
                driver.work(45)
        driver.finish()


main()
