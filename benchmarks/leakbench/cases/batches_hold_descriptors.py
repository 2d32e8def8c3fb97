"""Batches that arrive through mapped files are kept, and each holds one open descriptor.

The bytes are few.  The healthy build copies the numbers out and closes the mapping.
"""

import mmap
import os
import tempfile

import numpy as np

from leakbench import Case, Truth


class SharedBatch:
    """A batch that a loader has written into a file mapped by both sides."""

    def __init__(self, values):
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), values.nbytes)
            self.mapping = mmap.mmap(file.fileno(), values.nbytes)
        self.mapping[:] = values.tobytes()

    def values(self):
        return np.frombuffer(bytes(self.mapping))

    def close(self):
        self.mapping.close()


class SampleIndex:
    def __init__(self):
        self.batches = []
        self.total = np.zeros(16)


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.index = SampleIndex()
        self.weights = np.zeros(16)

    def generation(self, pp, index):
        with pp.phase("load_batches"):
            for _ in range(15):
                batch = SharedBatch(self.rng.standard_normal(16))
                self.index.total += batch.values()
                if self.leaky:
                    self.index.batches.append(batch)
                else:
                    batch.close()
        with pp.phase("train_step"):
            for _ in range(200):
                self.weights += 1e-3 * (self.index.total / (index + 1) - self.weights)


CASE = Case(
    name="batches_hold_descriptors",
    build=Trainer,
    truth=Truth(
        phase="load_batches",
        kind="descriptors",
        subject="SharedBatch",
        holder=("SampleIndex", "batches"),
        also=("objects", "container"),
        subject_also=("mmap", "list"),
        site=("Trainer.generation", "SharedBatch.__init__"),
    ),
    source="pytorch/pytorch#11201, #973",
)
