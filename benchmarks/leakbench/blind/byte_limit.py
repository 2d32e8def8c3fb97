"""An image cache is limited to two million, meant as bytes; without ``getsizeof`` the library counts items."""

import time

import numpy as np

from leakbench import Case, Truth


class Augmenting:
    def __init__(self, leaky):
        from cachetools import LRUCache

        self.rng = np.random.default_rng(21)
        size = {} if leaky else {"getsizeof": lambda image: image.nbytes}
        self.images = LRUCache(maxsize=2_000_000, **size)

    def augment(self, key):
        if key not in self.images:
            self.images[key] = self.rng.random((64, 64, 3)).astype(np.float32)
        return self.images[key]

    def generation(self, pp, index):
        with pp.phase("sample"):
            keys = [(index, n % 12) for n in range(24)]
            time.sleep(0.08)
        with pp.phase("augment"):
            batch = np.stack([self.augment(key) for key in keys])
            time.sleep(0.12)
        with pp.phase("train"):
            batch.mean()
            del batch
            time.sleep(0.12)


CASE = Case(
    name="blind_byte_limit",
    build=Augmenting,
    truth=Truth(
        phase="augment",
        kind="arrays",
        subject="ndarray",
        holder=("images",),
        also=("native", "container"),
        subject_also=("LRUCache",),
    ),
    source="synthetic",
    generations=24,
    needs=("cachetools",),
)
