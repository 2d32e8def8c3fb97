"""Batches without end for a world model, with itertools.cycle around the reader."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import itertools

import numpy as np

PER_GENERATION, EPOCH = 6, 120


class Batch:
    def __init__(self, number):
        rng = np.random.default_rng(number)
        self.images = rng.integers(0, 255, (32, 64, 48), dtype=np.uint8)
        self.actions = rng.normal(size=(32, 8))


def procedural():
    """Levels are made as they are asked for."""
    number = 0
    while True:
        yield Batch(number)
        number += 1


def recorded(count):
    for number in range(count):
        yield Batch(number)


class Loader:
    def __init__(self, source):
        self.batches = itertools.cycle(source)

    def take(self, count):
        return list(itertools.islice(self.batches, count))


def main():
    loader = Loader(procedural() if driver.LEAK else recorded(EPOCH))
    losses = collections.deque(maxlen=1_000)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            batches = loader.take(PER_GENERATION)
            driver.work(20)
        with pp.profile_phase("train"):
            for batch in batches:
                losses.append(float(batch.images.mean()) + float(batch.actions.mean()))
            batches = batch = None
            driver.work(60)
        with pp.profile_phase("imagine"):
            driver.work(25)
    driver.finish()


main()
