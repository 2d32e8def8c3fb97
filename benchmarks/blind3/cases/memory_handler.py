"""Log records wait in a MemoryHandler for an error that never comes, each with the array it shows."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import logging
import logging.handlers

import numpy as np

import phaseprof as pp

logger = logging.getLogger("trainer")
logger.setLevel(logging.DEBUG)
logger.propagate = False
logger.addHandler(logging.handlers.MemoryHandler(
    capacity=1_000_000 if driver.LEAK else 240, flushLevel=logging.ERROR, target=logging.NullHandler()))


def train_step(rng, step):
    gradient = rng.normal(size=150)
    logger.debug("step %d: gradient %s", step, gradient)
    return float(np.abs(gradient).max())


def main():
    rng = np.random.default_rng(0)
    largest = 0.0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            driver.work(45)
        with pp.profile_phase("train"):
            for step in range(36):
                largest = max(largest, train_step(rng, 36 * generation + step))
            driver.work(45)
        with pp.profile_phase("evaluate"):
            driver.work(15)
    driver.finish()


main()
