"""Batches are staged in anonymous memory maps; the map of a past generation stays in the table of arenas."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import mmap

import numpy as np

import phaseprof as pp


class Staging:
    SIZE = 3 << 20

    def __init__(self):
        self.arenas = {}
        self.lookup = None
        self.rng = np.random.default_rng(0)

    def stage(self, generation):
        arena = mmap.mmap(-1, self.SIZE)
        arena.write(self.rng.bytes(self.SIZE))
        self.arenas[generation] = arena
        if not driver.LEAK and generation - 3 in self.arenas:
            self.arenas.pop(generation - 3).close()
        if generation == 14:
            self.lookup = np.ones(2_000_000)  # once: the table of the second stage of the curriculum
        return arena

    def mean(self, arena):
        return float(np.frombuffer(arena, dtype=np.uint8).mean())


def main():
    staging = Staging()
    means = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("stage"):
            arena = staging.stage(generation)
            driver.work(10)
        with pp.profile_phase("train"):
            means.append(staging.mean(arena))
            driver.work(60)
        with pp.profile_phase("evaluate"):
            driver.work(30)
    driver.finish()


main()
