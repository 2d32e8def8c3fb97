"""One pickler writes all snapshots; its memo keeps alive everything it has ever pickled."""

import io
import pickle
import time

import numpy as np

from leakbench import Case, Truth


class Snapshots:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(24)
        self.file = io.BytesIO()
        self.pickler = pickle.Pickler(self.file, protocol=5)

    def generation(self, pp, index):
        with pp.phase("train"):
            weights = self.rng.random(50_000)
            time.sleep(0.15)
        with pp.phase("snapshot"):
            self.pickler.dump({"generation": index, "weights": weights})
            self.file.seek(0)
            self.file.truncate()
            if not self.leaky and index % 4 == 3:
                self.pickler.clear_memo()
            time.sleep(0.1)
        with pp.phase("evaluate"):
            weights.mean()
            del weights
            time.sleep(0.1)


CASE = Case(
    name="blind_resume_pickler",
    build=Snapshots,
    truth=Truth(
        phase="train",
        kind="arrays",
        subject="ndarray",
        holder=("pickler",),
        also=("native", "objects", "container"),
        subject_also=("Pickler",),
    ),
    source="synthetic",
    generations=28,
)
