"""A token dataset maps its shards into memory and remembers each window that it opened."""

import tempfile
import time
from collections import OrderedDict
from pathlib import Path

import numpy as np

from leakbench import Case, Truth


class Tokens:
    def __init__(self, folder, limit):
        self.folder = folder
        self.limit = limit
        self.windows = OrderedDict()
        for shard in range(4):
            np.save(folder / f"shard{shard}.npy", np.arange(40_000, dtype=np.uint16))

    def window(self, shard, start):
        key = (shard, start)
        if key not in self.windows:
            mapped = np.load(self.folder / f"shard{shard}.npy", mmap_mode="r")
            self.windows[key] = mapped[start : start + 512]
            while self.limit and len(self.windows) > self.limit:
                self.windows.popitem(last=False)
        return self.windows[key]


class Pretraining:
    def __init__(self, leaky):
        self.folder = tempfile.TemporaryDirectory()
        self.tokens = Tokens(Path(self.folder.name), limit=None if leaky else 12)
        self.rng = np.random.default_rng(6)
        self.checksum = 0

    def generation(self, pp, index):
        with pp.phase("batch"):
            starts = self.rng.choice(39_000, size=3, replace=False)
            batch = np.stack([self.tokens.window(int(s) % 4, int(s)) for s in starts]).astype(np.int64)
            time.sleep(0.08)
        with pp.phase("step"):
            self.checksum = (self.checksum + int(batch.sum())) % 65_521
            time.sleep(0.12)


CASE = Case(
    name="blind2_shard_maps",
    build=Pretraining,
    truth=Truth(
        phase="batch",
        kind="descriptors",
        subject="memmap",
        holder=("windows",),
        also=("arrays", "objects", "container"),
        subject_also=("mmap", "file", "npy", "shard", "ndarray"),
    ),
    source="https://github.com/MITgcm/xmitgcm/issues/11",
    generations=34,
)
