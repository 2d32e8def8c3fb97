"""A sampler which can resume in mid-epoch notes the indices it has served; the data set beside it is large."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

EPOCH, ROWS = 6, 7_000


class ResumableSampler:
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.served = []

    def start_epoch(self):
        if not driver.LEAK:
            self.served.clear()

    def draw(self, high):
        indices = self.rng.integers(1_000, high, ROWS)
        self.served.extend(indices.tolist())
        return indices

    def state_dict(self):
        return {"position": len(self.served), "last": self.served[-1]}


def main():
    rng = np.random.default_rng(1)
    dataset = np.zeros((20, 20_000, 32))
    sampler = ResumableSampler()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("ingest"):
            if generation < 20:
                dataset[generation] = rng.random((20_000, 32))
            driver.work(30)
        with pp.profile_phase("sample"):
            if generation % EPOCH == 0:
                sampler.start_epoch()
            indices = sampler.draw(20_000)
            batch = dataset[generation % 20, indices]
            driver.work(20)
        with pp.profile_phase("fit"):
            batch.mean()
            sampler.state_dict()
            driver.work(20)
    driver.finish()


main()
