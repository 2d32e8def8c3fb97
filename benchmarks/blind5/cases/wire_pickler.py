"""The learner publishes its weights through one long-lived pickler."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os
import pickle

import numpy as np


class Wire:
    """One stream to the actors: a pickler is made once, as the stream is."""

    def __init__(self, path):
        self.stream = open(path, "wb")
        self.pickler = pickle.Pickler(self.stream, protocol=5)
        self.sent = 0

    def send(self, message):
        self.pickler.dump(message)
        self.stream.flush()
        self.sent += 1
        if not driver.LEAK:
            self.pickler.clear_memo()


class Learner:
    def __init__(self):
        self.rng = np.random.default_rng(8)
        self.layers = {f"layer{i}": self.rng.standard_normal((256, 256)).astype(np.float32) for i in range(4)}

    def step(self):
        for name, weight in self.layers.items():
            self.layers[name] = weight * np.float32(0.999)


def main():
    learner = Learner()
    wire = Wire(os.devnull)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("learn"):
            learner.step()
            driver.work(55)
        with pp.profile_phase("broadcast"):
            wire.send({"version": generation, "weights": {k: v.copy() for k, v in learner.layers.items()}})
            driver.work(30)
    driver.finish()


main()
