"""Every third generation the weights go to a store, by a coroutine; the run trains on."""

import asyncio
import collections
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(150)


class Uploader:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.pending = []
        self.sums = {}

    async def upload(self, name, weights):
        await asyncio.sleep(0)
        self.sums[name] = zlib.crc32(weights)

    def save(self, name, weights):
        self.pending.append(self.upload(name, weights))
        if not driver.LEAK:
            self.flush()

    def flush(self):
        for upload in self.pending:
            self.loop.run_until_complete(upload)
        self.pending.clear()


def main():
    rng = np.random.default_rng(22)
    uploader = Uploader()
    weights = rng.normal(size=(300, 400))
    replay = collections.deque(maxlen=50)
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("collect"):
            replay.append(rng.normal(size=(250, 50)))
            driver.work(45)
        with pp.profile_phase("train"):
            weights += 0.01 * np.tanh(replay[-1].mean())
            driver.work(45)
        with pp.profile_phase("checkpoint"):
            if generation % 3 == 2:
                uploader.save(f"weights-{generation}", weights.copy())
            driver.work(30)
    driver.finish()
    uploader.flush()
    uploader.loop.close()


main()
