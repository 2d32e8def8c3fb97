"""Agents meet in an arena: highlights are kept for the report, and every table of ranks goes to a log of its own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import os
import tempfile
from collections import deque
from typing import ClassVar

import driver
import numpy as np

import phaseprof as pp


class Arena:
    highlights: ClassVar[list] = []

    def play(self, frames):
        Arena.highlights.append(frames[::2].copy())
        if not driver.LEAK:
            del Arena.highlights[:-6]


class Ranks:
    def __init__(self):
        self.log = tempfile.TemporaryFile()  # noqa: SIM115

    def write(self, table):
        copy = os.dup(self.log.fileno())
        os.write(copy, table.tobytes())
        os.ftruncate(copy, 0)
        if not driver.LEAK:
            os.close(copy)


def main():
    rng, arena, ranks = np.random.default_rng(25), Arena(), Ranks()
    recent = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            recent.append(rng.normal(size=(150, 200)))
            driver.work(30)
        with pp.profile_phase("play"):
            arena.play(rng.integers(0, 255, (12, 300, 300), dtype=np.uint8))
            driver.work(15)
        with pp.profile_phase("rank"):
            for _ in range(2):
                ranks.write(rng.random(400))
            driver.work(15)
    driver.finish()


main()
