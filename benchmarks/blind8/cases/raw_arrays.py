"""Actors would write their rollouts into arrays shared between processes; the learner makes one for each generation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import multiprocessing

import driver
import numpy as np

import phaseprof as pp

LENGTH, SLOTS = 180_000, 8


class Rollouts:
    def __init__(self):
        self.slots = {}

    def new(self, generation):
        key = generation if driver.LEAK else generation % SLOTS
        self.slots.pop(key, None)
        self.slots[key] = multiprocessing.RawArray("f", LENGTH)
        return np.frombuffer(self.slots[key], dtype=np.float32)


def main():
    rng = np.random.default_rng(0)
    rollouts = Rollouts()
    weights = rng.normal(size=(600, 300)).astype(np.float32)
    moments = [np.zeros_like(weights), np.zeros_like(weights)]
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("act"):
            rollout = rollouts.new(generation)
            rollout[:] = rng.random(LENGTH, dtype=np.float32)
            driver.work(30)
        with pp.profile_phase("learn"):
            gradient = rollout.reshape(600, 300) - 0.5
            moments[0] += 0.1 * (gradient - moments[0])
            moments[1] += 0.01 * (gradient ** 2 - moments[1])
            weights -= 1e-3 * moments[0] / (np.sqrt(moments[1]) + 1e-8)
            del rollout, gradient
            driver.work(35)
    driver.finish()


main()
