"""Trajectories are written as an Arrow stream in memory, and uploaded as a shard now and then."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np
import pyarrow as pa

SCHEMA = pa.schema([("observation", pa.float32()), ("action", pa.int32()), ("reward", pa.float32())])


class ShardStream:
    def __init__(self):
        self.uploaded = 0
        self.open()

    def open(self):
        self.sink = pa.BufferOutputStream()
        self.writer = pa.ipc.new_stream(self.sink, SCHEMA)
        self.batches = 0

    def begin(self):
        """A generation: what was counted for the last one is logged and forgotten."""
        if driver.LEAK:
            self.batches = 0

    def write(self, batch):
        self.writer.write_batch(batch)
        self.batches += 1

    def rotate(self):
        if self.batches >= 40:
            self.writer.close()
            self.uploaded += self.sink.getvalue().size
            self.open()


def main():
    rng = np.random.default_rng(0)
    stream = ShardStream()
    table = {}
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            batches = []
            for _ in range(5):
                columns = [rng.random(7_000, dtype=np.float32), rng.integers(0, 18, 7_000, dtype=np.int32), rng.random(7_000, dtype=np.float32)]
                batches.append(pa.record_batch([pa.array(c) for c in columns], schema=SCHEMA))
            table[generation % 21] = rng.random(25_000)
            driver.work(30)
        with pp.profile_phase("write"):
            stream.begin()
            for batch in batches:
                stream.write(batch)
            stream.rotate()
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()


main()
