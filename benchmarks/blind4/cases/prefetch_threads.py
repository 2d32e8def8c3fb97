"""A prefetching loader, made anew for each epoch; the trainer stops an epoch before its end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import queue
import threading

import numpy as np


class Prefetcher:
    def __init__(self, batches, depth=2):
        self.batches = batches
        self.ready = queue.Queue(maxsize=depth)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._fill, name="prefetch", daemon=True)
        self.thread.start()

    def _fill(self):
        rng = np.random.default_rng(0)
        for _ in range(self.batches):
            batch = rng.random((64, 128))
            while not self.stop.is_set():
                try:
                    self.ready.put(batch, timeout=20)
                    break
                except queue.Full:
                    continue
            if self.stop.is_set():
                return

    def take(self, n):
        return [self.ready.get() for _ in range(n)]

    def close(self):
        self.stop.set()
        while self.thread.is_alive():
            try:
                self.ready.get_nowait()
            except queue.Empty:
                pass
            self.thread.join(0.005)


class EpochTrainer:
    def __init__(self):
        self.loader = None
        self.weights = np.zeros((128, 8))

    def load(self):
        if self.loader is not None and not driver.LEAK:
            self.loader.close()
        self.loader = Prefetcher(batches=40)
        batches = self.loader.take(4)
        driver.work(30)
        return batches

    def step(self, batches):
        for batch in batches:
            self.weights += 0.01 * batch.T @ np.ones((len(batch), 8))
        driver.work(50)


def main():
    trainer = EpochTrainer()
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            with pp.profile_phase("load"):
                batches = trainer.load()
            with pp.profile_phase("step"):
                trainer.step(batches)
            with pp.profile_phase("validate"):
                driver.work(20)
    driver.finish()


main()
