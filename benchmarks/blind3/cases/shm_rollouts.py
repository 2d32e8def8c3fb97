"""Rollouts travel in shared memory blocks; those that the learner has read are neither closed nor unlinked."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import atexit
from multiprocessing import shared_memory

import numpy as np

import phaseprof as pp


class Exchange:
    def __init__(self):
        self.blocks = []
        atexit.register(self.clean)

    def clean(self):
        for block in self.blocks:
            block.close()
            block.unlink()

    def send(self, rollout):
        block = shared_memory.SharedMemory(create=True, size=rollout.nbytes)
        block.buf[:] = rollout.tobytes()
        self.blocks.append(block)

    def receive(self):
        received = np.frombuffer(bytes(self.blocks[-1].buf))
        if not driver.LEAK:
            while len(self.blocks) > 4:
                block = self.blocks.pop(0)
                block.close()
                block.unlink()
        return received


def main():
    rng = np.random.default_rng(0)
    exchange = Exchange()
    total = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            for _ in range(2):
                exchange.send(rng.random(50_000))
            driver.work(40)
        with pp.profile_phase("learn"):
            total += float(exchange.receive().sum())
            driver.work(50)
        with pp.profile_phase("log"):
            driver.work(15)
    driver.finish()


main()
