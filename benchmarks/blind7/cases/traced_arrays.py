"""Arrays know where they come from, so that a NaN can be followed back to its source."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np


class TracedArray(np.ndarray):
    """An array with the name of the operation and the array that it was made from."""

    def __new__(cls, values, label):
        array = np.asarray(values).view(cls)
        array.label = label
        array.source = None
        return array

    def __array_finalize__(self, source):
        self.label = getattr(source, "label", "new")
        self.source = source if isinstance(source, TracedArray) else None

    def cut(self):
        self.source = None
        return self


class Normaliser:
    def __init__(self, width):
        self.mean = TracedArray(np.zeros(width), "mean")
        self.count = 0

    def update(self, batch):
        self.count += 1
        self.mean = self.mean + (batch.mean(0) - self.mean) / min(self.count, 1_000)
        if not driver.LEAK and self.count % 50 == 0:
            self.mean.cut()


def main():
    rng = np.random.default_rng(0)
    normaliser = Normaliser(2_400)
    replay = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            batches = [rng.normal(size=(3, 2_400)) for _ in range(12)]
            replay.append(np.concatenate(batches[:8]))
            del replay[:-20]
            driver.work(35)
        with pp.profile_phase("normalise"):
            for batch in batches:
                normaliser.update(batch)
            driver.work(15)
        with pp.profile_phase("learn"):
            driver.work(45)
    driver.finish()


main()
