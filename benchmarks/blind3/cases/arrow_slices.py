"""A preview of sixteen rows of each loaded table is kept: a slice, which keeps the buffers of the whole table."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import phaseprof as pp


class Dataset:
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.previews = [] if driver.LEAK else collections.deque(maxlen=15)

    def load(self):
        names = [f"feature_{k}" for k in range(4)]
        columns = [pc.add(pa.array(self.rng.random(120_000)), 1.0) for _ in names]
        table = pa.table(columns, names=names)
        if driver.LEAK:
            self.previews.append(table.slice(0, 16))
        else:
            self.previews.append(table.take(list(range(16))))
        return table


def main():
    dataset = Dataset()
    total = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            table = dataset.load()
            driver.work(15)
        with pp.profile_phase("train"):
            total += pc.sum(table["feature_1"]).as_py()
            driver.work(60)
        with pp.profile_phase("validate"):
            driver.work(20)
    driver.finish()


main()
