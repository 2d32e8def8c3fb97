"""The state of a training is written to a stream in memory after each generation, with a sum to check it by."""

import hashlib
import io
import pickle
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Checkpoints:
    def __init__(self):
        self.stream = io.BytesIO()
        self.sums = deque(maxlen=20)

    def save(self, state):
        if not driver.LEAK:
            self.stream.seek(0)
        self.stream.truncate(0)
        start = self.stream.tell()
        pickle.dump(state, self.stream)
        with self.stream.getbuffer() as written:
            self.sums.append(hashlib.sha256(written[start:]).hexdigest())


def main():
    rng = np.random.default_rng(199)
    checkpoints = Checkpoints()
    weights = rng.normal(size=(130, 130))
    replay = deque(maxlen=21)
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("collect"):
            replay.append(rng.random((80, 130)))
            driver.work(55)
        with pp.profile_phase("learn"):
            batch = replay[rng.integers(len(replay))]
            weights -= 1e-4 * batch.T @ (batch @ weights)
            driver.work(60)
        with pp.profile_phase("save"):
            checkpoints.save({"generation": generation, "weights": weights, "state": rng.bit_generator.state})
            driver.work(10)
    driver.finish()


main()
