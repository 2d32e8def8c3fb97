"""A loader passes each batch through a shared-memory segment, closes its own mapping and never unlinks it.

The process looks flat: the bytes live in the system's shared memory.  The healthy build unlinks after use.
"""

from multiprocessing import shared_memory

import numpy as np

from leakbench import Case, Truth

SHAPE = (128, 1024)


class SharedBatches:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def send(self):
        segment = shared_memory.SharedMemory(create=True, size=8 * SHAPE[0] * SHAPE[1])
        batch = np.ndarray(SHAPE, buffer=segment.buf)
        batch[:] = self.rng.random(SHAPE)
        del batch
        segment.close()
        return segment.name

    def receive(self, name, unlink):
        segment = shared_memory.SharedMemory(name)
        batch = np.array(np.ndarray(SHAPE, buffer=segment.buf))
        segment.close()
        if unlink:
            segment.unlink()
        return batch


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.batches = SharedBatches()
        self.mean = 0.0

    def generation(self, pp, index):
        with pp.phase("load_batch"):
            name = self.batches.send()
            batch = self.batches.receive(name, unlink=not self.leaky)
        with pp.phase("train_step"):
            self.mean += 0.1 * (batch.mean() - self.mean)


CASE = Case(
    name="segments_not_unlinked",
    build=Trainer,
    truth=Truth(
        phase="load_batch", kind="shared memory", site=("SharedBatches.send",)
    ),
    source="synthetic",
)
