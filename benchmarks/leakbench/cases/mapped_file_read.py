"""Healthy: training reads a memory-mapped file from front to back, so resident memory rises by the pages it touched.

They belong to the file, and the system takes them back when it wants to.
"""

import tempfile

import numpy as np

from leakbench import Case, Truth

GENERATIONS, ROWS, WIDTH = 30, 512, 256


class Trainer:
    def __init__(self, leaky):
        self.file = tempfile.NamedTemporaryFile()
        rows = np.random.default_rng(0).random((ROWS, WIDTH))
        for _ in range(GENERATIONS):
            rows.tofile(self.file)
        self.file.flush()
        self.samples = np.memmap(self.file.name, dtype=np.float64, mode="r", shape=(GENERATIONS * ROWS, WIDTH))
        self.mean = 0.0

    def generation(self, pp, index):
        with pp.phase("load_batch"):
            batch = self.samples[index * ROWS : (index + 1) * ROWS]
            mean = float(batch.mean())
        with pp.phase("train_step"):
            self.mean += 0.1 * (mean - self.mean)


CASE = Case(
    name="mapped_file_read",
    build=Trainer,
    truth=Truth(phase="", kind="native"),
    source="synthetic",
    leaky_build=False,
    generations=GENERATIONS,
)
