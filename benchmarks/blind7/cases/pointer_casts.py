"""A particle simulator in C is handed a cursor into its memory for every substep."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import ctypes

import numpy as np

PARTICLES, SUBSTEPS = 4_000, 1_100
Floats = ctypes.POINTER(ctypes.c_float)
Bytes = ctypes.POINTER(ctypes.c_uint8)


class Particles:
    def __init__(self):
        self.memory = (ctypes.c_float * (PARTICLES * 3))()
        self.address = ctypes.addressof(self.memory)
        self.cursor = ctypes.cast(self.address, Bytes)
        self.checksum = 0.0

    def substep(self, i):
        origin = self.cursor if driver.LEAK else ctypes.cast(self.address, Bytes)
        floats = ctypes.cast(origin, Floats)
        floats[i % PARTICLES] += 0.5
        self.checksum += floats[i % PARTICLES]
        self.cursor = ctypes.cast(floats, Bytes)


def main():
    rng = np.random.default_rng(0)
    particles = Particles()
    recorded = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            for i in range(SUBSTEPS):
                particles.substep(generation * SUBSTEPS + i)
            driver.work(40)
        with pp.profile_phase("render"):
            recorded.append(rng.integers(0, 255, size=(3, 240, 240), dtype=np.uint8))
            del recorded[:-25]
            driver.work(15)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()


main()
