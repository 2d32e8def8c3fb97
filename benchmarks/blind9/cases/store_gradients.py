"""Two ranks exchange packed gradients through the key-value store of torch.distributed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import torch
import torch.distributed as dist

import phaseprof as pp

torch.set_num_threads(1)


class Exchange:
    def __init__(self):
        self.store = dist.HashStore()

    def put(self, key, gradient):
        self.store.set(key, gradient.tobytes())

    def average(self, keys):
        parts = [np.frombuffer(self.store.get(key), np.float32) for key in keys]
        if not driver.LEAK:
            for key in keys:
                self.store.delete_key(key)
        return np.mean(parts, axis=0)


def main():
    rng, exchange = np.random.default_rng(17), Exchange()
    replay = np.zeros((20, 60_000), np.float32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = rng.random(60_000, np.float32)
            driver.work(25)
        with pp.profile_phase("backward"):
            gradients = [rng.random(90_000, np.float32) for _ in range(2)]
            driver.work(20)
        with pp.profile_phase("exchange"):
            keys = [f"{generation}/{rank}" for rank in range(2)]
            for key, gradient in zip(keys, gradients, strict=True):
                exchange.put(key, gradient)
            exchange.average(keys)
            driver.work(15)
    driver.finish()


main()
