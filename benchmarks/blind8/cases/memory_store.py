"""Shards of episodes go to a file system by URL; while debugging it is the one in memory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import fsspec
import numpy as np

import phaseprof as pp

URL = "memory://episodes/shard-{:05d}.npz"
WINDOW = 10


class Exporter:
    def __init__(self):
        self.files = fsspec.filesystem("memory")

    def export(self, generation, episodes):
        with fsspec.open(URL.format(generation), "wb") as file:
            np.savez(file, episodes=episodes, generation=generation)
        if not driver.LEAK and generation >= WINDOW:
            self.files.rm(URL.format(generation - WINDOW))

    def read_back(self, generation):
        with fsspec.open(URL.format(generation), "rb") as file:
            return np.load(file)["episodes"].mean()


def main():
    rng = np.random.default_rng(0)
    exporter = Exporter()
    replay = np.zeros((20, 110_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            replay[generation % 20] = rng.random(110_000)
            driver.work(30)
        with pp.profile_phase("export"):
            exporter.export(generation, replay[generation % 20])
            driver.work(15)
        with pp.profile_phase("learn"):
            exporter.read_back(generation)
            driver.work(25)
    driver.finish()


main()
