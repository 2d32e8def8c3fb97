"""Weights are published to actors in shared memory; the learner closes each segment but does not unlink it."""

import time
from multiprocessing import shared_memory

import numpy as np

from leakbench import Case, Truth


class Learner:
    def __init__(self, leaky):
        self.leaky = leaky
        self.weights = np.random.default_rng(17).random(100_000)

    def publish(self):
        segment = shared_memory.SharedMemory(create=True, size=self.weights.nbytes)
        np.ndarray(self.weights.shape, buffer=segment.buf)[:] = self.weights
        segment.close()
        if not self.leaky:
            segment.unlink()

    def generation(self, pp, index):
        with pp.phase("learn"):
            self.weights *= 0.999
            time.sleep(0.15)
        with pp.phase("sync"):
            with pp.phase("publish"):
                self.publish()
                time.sleep(0.05)
            with pp.phase("await_actors"):
                time.sleep(0.1)
        with pp.phase("log"):
            float(self.weights[0])
            time.sleep(0.05)


CASE = Case(
    name="blind_published_weights",
    build=Learner,
    truth=Truth(phase="publish", kind="shared memory"),
    source="synthetic",
    generations=24,
)
