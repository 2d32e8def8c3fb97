"""Offline data set writer: trajectories as columns, written out every few generations."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import io

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class TrajectoryWriter:
    def __init__(self, every=5):
        self.every = every
        self._chunks = []
        self._written = 0
        self._turns = 0
        self.bytes_out = 0

    def append(self, batch):
        self._chunks.append(batch)
        self._turns += 1
        if self._turns % self.every == 0:
            self.flush()

    def flush(self):
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, self._chunks[0].schema) as stream:
            for batch in self._chunks[self._written:]:
                stream.write_batch(batch)
        self.bytes_out += sink.tell()
        if driver.LEAK:
            self._written = len(self._chunks)
        else:
            self._chunks.clear()


def encode(rng, rows=18_000):
    reward = pc.multiply(pa.array(rng.random(rows)), 2.0)
    value = pc.add(reward, 1.0)
    action = pc.cast(pc.floor(pc.multiply(reward, 4.0)), pa.int64())
    return pa.RecordBatch.from_arrays([reward, value, action], names=["reward", "value", "action"])


def main():
    rng = np.random.default_rng(4)
    writer = TrajectoryWriter()
    mean = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            driver.work(40)
        with pp.profile_phase("write"):
            writer.append(encode(rng))
            driver.work(30)
        with pp.profile_phase("fit"):
            mean += 0.1 * (rng.random(1_000).mean() - mean)
            driver.work(30)
    driver.finish()


main()
