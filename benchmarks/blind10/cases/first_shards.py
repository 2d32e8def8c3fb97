"""A data pipeline looks into the folders of its shards and takes the first few names of each."""

import collections
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class ShardReader:
    def __init__(self, folder):
        self.folder = folder
        self.rests = {}

    def first(self, epoch, number):
        entries = os.scandir(self.folder)
        names = [next(entries).path for _ in range(number)]
        self.rests[epoch] = entries
        if not driver.LEAK:
            entries.close()
        return names


def main():
    rng = np.random.default_rng(10)
    window = collections.deque(maxlen=20)
    with tempfile.TemporaryDirectory() as folder:
        for shard in range(30):
            np.save(f"{folder}/shard-{shard}.npy", rng.normal(size=(200, 50)))
        reader = ShardReader(folder)
        weights = np.zeros(50)
        for epoch in pp.generations(range(driver.GENERATIONS)):
            with pp.profile_phase("list"):
                names = reader.first(epoch, 4)
                driver.work(20)
            with pp.profile_phase("load"):
                window.append(np.concatenate([np.load(name) for name in names]))
                driver.work(30)
            with pp.profile_phase("fit"):
                weights += 0.1 * (window[-1].mean(0) - weights)
                driver.work(35)
        driver.finish()


main()
