"""Workers that share a folder take a lock for every shard of results that they append to."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import filelock
import numpy as np

import phaseprof as pp


class Shards:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.locks = {}

    def open(self, name):
        lock = self.locks.setdefault(name, filelock.FileLock(self.folder / f"{name}.lock"))
        lock.acquire()

    def append(self, name, data):
        lock = self.locks[name]
        lock.acquire()  # for those who append without having opened
        with (self.folder / f"{name}.bin").open("wb") as file:
            file.write(data)
        if not driver.LEAK:
            lock.release()

    def close(self, name):
        lock = self.locks[name]
        lock.release()
        if not lock.is_locked:
            del self.locks[name]
        (self.folder / f"{name}.bin").unlink()


def main():
    rng = np.random.default_rng(9)
    window = []
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(folder)
        for generation in pp.generations(range(driver.generations(72))):
            with pp.profile_phase("rollout"):
                window = [*window[-20:], rng.normal(size=(160, 64))]
                driver.work(40)
            with pp.profile_phase("store"):
                for part in range(2):
                    name = f"shard-{generation}-{part}"
                    shards.open(name)
                    shards.append(name, window[-1].tobytes())
                    shards.close(name)
                driver.work(25)
            with pp.profile_phase("train"):
                np.tanh(window[-1]).mean()
                driver.work(40)
        driver.finish()


main()
