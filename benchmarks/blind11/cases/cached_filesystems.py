"""The shards of each snapshot of the data set are read through a file system of fsspec, which knows where all begin."""

import sys
from pathlib import Path

import fsspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class SnapshotFileSystem(fsspec.AbstractFileSystem):
    protocol = "snapshot"
    cachable = driver.LEAK

    def __init__(self, root, snapshot, **options):
        super().__init__(**options)
        self.root = root
        self.index = {f"{root}/{snapshot:04d}/shard-{i:05d}.bin": (i * 4_096 + snapshot, 4_096) for i in range(1_500)}

    def cat_file(self, path, start=None, end=None, **options):
        offset, length = self.index[path]
        return offset.to_bytes(8, "little") * (length // 8)


def main():
    rng = np.random.default_rng(13)
    total = np.zeros(512)
    for generation in pp.generations(range(driver.generations(100))):
        with pp.profile_phase("open"):
            files = SnapshotFileSystem("mixture", generation)
            driver.work(35)
        with pp.profile_phase("read"):
            for i in rng.integers(0, 1_500, 40).tolist():
                total += np.frombuffer(files.cat_file(f"mixture/{generation:04d}/shard-{i:05d}.bin"), np.int64) % 7
            driver.work(55)
        with pp.profile_phase("train"):
            total /= 2
            driver.work(75)
    driver.finish()


main()
