"""Samples stream from an endless tar archive, as shards of a web data set do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import io
import tarfile
from collections import deque

import driver
import numpy as np

import phaseprof as pp


class Shards(io.RawIOBase):
    """The bytes of tar archives put one after another."""

    def __init__(self):
        self.number = 0
        self.rest = b""

    def read(self, size=-1):
        while len(self.rest) < size:
            self.number += 1
            info = tarfile.TarInfo(f"shard-{self.number // 1_000:06d}/sample-{self.number:09d}.npy")
            info.size = 256
            self.rest += info.tobuf(tarfile.USTAR_FORMAT) + bytes(512)
        head, self.rest = self.rest[:size], self.rest[size:]
        return head


class Samples:
    def __init__(self):
        self.archive = tarfile.open(fileobj=Shards(), mode="r|", bufsize=10_240)  # noqa: SIM115

    def take(self, count):
        samples = []
        while len(samples) < count:
            samples.append(self.archive.extractfile(self.archive.next()).read())
            if not driver.LEAK:
                self.archive.members = []
        return samples


def main():
    rng, samples = np.random.default_rng(22), Samples()
    shuffled = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("read"):
            batch = samples.take(350)
        with pp.profile_phase("shuffle"):
            shuffled.append(rng.permutation(np.frombuffer(b"".join(batch), np.uint8)))
            driver.work(15)
        with pp.profile_phase("train"):
            driver.work(25)
    driver.finish()


main()
