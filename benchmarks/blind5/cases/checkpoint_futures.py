"""Checkpoints are serialised by a thread; the trainer waits only for the one before."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np


def serialise(state):
    data = pickle.dumps(state, protocol=5)
    Path("latest.ckpt").write_bytes(data)
    return data


class Checkpointer:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self.pending = []

    def save(self, state):
        """The last bytes are there for whoever asks for them."""
        if self.pending:
            self.pending[-1].result()
        if not driver.LEAK:
            self.pending = [future for future in self.pending if not future.done()][-2:]
        self.pending.append(self.pool.submit(serialise, state))

    def close(self):
        self.pool.shutdown()


def main():
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((768, 1024)).astype(np.float32)
    saver = Checkpointer()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            weights = weights * np.float32(0.999)
            driver.work(45)
        with pp.profile_phase("checkpoint"):
            saver.save({"generation": generation, "weights": weights.copy()})
            driver.work(35)
    saver.close()
    driver.finish()


main()
