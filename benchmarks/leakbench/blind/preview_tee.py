"""A stream is split in two with itertools.tee; the preview side is never advanced."""

import itertools
import time

import numpy as np

from leakbench import Case, Truth


def read_shards(rng):
    while True:
        yield rng.integers(0, 255, (128, 160)).astype(np.uint8)


class Pipeline:
    def __init__(self, leaky):
        self.leaky = leaky
        self.shards, self.preview = itertools.tee(read_shards(np.random.default_rng(11)))
        self.mean = 0.0

    def generation(self, pp, index):
        with pp.phase("input"):
            with pp.phase("read"):
                current = [next(self.shards) for _ in range(24)]
                time.sleep(0.1)
            with pp.phase("preview"):
                if not self.leaky:
                    for _ in range(24):
                        next(self.preview)
                time.sleep(0.05)
        with pp.phase("train"):
            self.mean = float(np.mean([shard.mean() for shard in current]))
            time.sleep(0.15)


CASE = Case(
    name="blind_preview_tee",
    build=Pipeline,
    truth=Truth(
        phase="read",
        kind="arrays",
        subject="ndarray",
        holder=("preview",),
        also=("native", "objects", "container"),
        subject_also=("tee",),
    ),
    source="synthetic",
    generations=24,
)
