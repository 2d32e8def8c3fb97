"""The rollouts are written as shards and read back for training."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Shards:
    def __init__(self, folder):
        self.folder = folder
        self.opened = {}

    def write(self, name, **arrays):
        np.savez(self.folder / f"{name}.npz", **arrays)

    def read(self, name):
        if name not in self.opened:
            self.opened[name] = np.load(self.folder / f"{name}.npz")
        shard = self.opened[name]
        return shard["observations"], shard["returns"]

    def forget(self, name):
        if not driver.LEAK:
            self.opened.pop(name).close()
        (self.folder / f"{name}.npz").unlink()


def main():
    rng = np.random.default_rng(25)
    shards = Shards(Path("shards"))
    shards.folder.mkdir()
    value = np.zeros(24)
    for generation in pp.generations(range(driver.generations(70))):
        names = [f"{generation:04d}-{part}" for part in range(2)]
        with pp.profile_phase("write"):
            for name in names:
                observations = rng.normal(size=(100, 24))
                shards.write(name, observations=observations, returns=observations.sum(1))
            driver.work(45)
        with pp.profile_phase("read"):
            parts = [shards.read(name) for name in names]
            driver.work(25)
        with pp.profile_phase("train"):
            for observations, returns in parts:
                value += 0.01 * (returns - observations @ value) @ observations / len(returns)
            del parts
            driver.work(30)
        with pp.profile_phase("forget"):
            for name in names:
                shards.forget(name)
            driver.work(5)
    driver.finish()


main()
