"""A decorator remembers every item a dataset ever returned; random crops make each key a new one.

The healthy build has fixed crops, so the memo is complete after some six epochs.
"""

from functools import wraps

import numpy as np

from leakbench import Case, Truth


def remembered(method):
    memo = {}

    @wraps(method)
    def lookup(self, key):
        if key not in memo:
            memo[key] = method(self, key)
        return memo[key]

    return lookup


class CropDataset:
    def __init__(self, rng):
        self.signal = rng.standard_normal(1 << 20, dtype=np.float32)

    @remembered
    def __getitem__(self, start):
        crop = self.signal[start : start + 4096]
        return (crop - crop.mean()) / crop.std()


class Trainer:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(0)
        self.dataset = CropDataset(self.rng)
        self.grid = 1 if leaky else 16384
        self.weights = np.zeros(4096, dtype=np.float32)

    def generation(self, pp, index):
        with pp.phase("load_batch"):
            starts = self.rng.integers(0, (1 << 20) - 4096, 64) // self.grid * self.grid
            batch = [self.dataset[int(start)] for start in starts]
        with pp.phase("train_step"):
            for item in batch:
                self.weights += 1e-3 * (item - self.weights)


CASE = Case(
    name="dataset_memo",
    build=Trainer,
    truth=Truth(
        phase="load_batch",
        kind="arrays",
        subject="ndarray",
        holder=("memo",),
        also=("container",),
        subject_also=("dict",),
        site=("CropDataset.__getitem__",),
    ),
    source="msamogh/nonechucks#13",
)
