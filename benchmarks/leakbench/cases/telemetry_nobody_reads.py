"""Telemetry goes into a multiprocessing queue whose reader was never started.

Once the pipe is full, the feeder thread waits and everything later stays in the queue's own buffer.
The healthy queue has a size, which is reached after some generations; what does not fit is dropped.
"""

import multiprocessing
import queue

import numpy as np

from leakbench import Case, Truth


class Telemetry:
    def __init__(self, size):
        self.outbox = multiprocessing.Queue(size)
        self.outbox.cancel_join_thread()
        self.dropped = 0

    def publish(self, values):
        try:
            self.outbox.put_nowait(values)
        except queue.Full:
            self.dropped += 1


class Trainer:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(0)
        self.telemetry = Telemetry(0 if leaky else 24)
        self.weights = np.zeros(128)

    def generation(self, pp, index):
        with pp.phase("collect"):
            observations = self.rng.standard_normal((2000, 128))
            returns = observations @ np.linspace(0, 1, 128)
        with pp.phase("train_step"):
            for _ in range(20):
                residual = returns - observations @ self.weights
                self.weights += 1e-2 * observations.T @ residual / len(returns)
        with pp.phase("report"):
            for start in range(0, 2000, 500):
                part = observations[start:start + 500]
                self.telemetry.publish(np.cov(part, rowvar=False))


CASE = Case(
    name="telemetry_nobody_reads",
    build=Trainer,
    truth=Truth(
        phase="report",
        kind="arrays",
        subject="ndarray",
        holder=("buffer",),
        also=("objects", "container"),
        subject_also=("deque",),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
