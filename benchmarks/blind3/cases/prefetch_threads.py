"""Each epoch starts a thread that reads ahead; the loop leaves early, and nobody tells the thread to stop."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import threading

import numpy as np

import phaseprof as pp


class Prefetcher(threading.Thread):
    def __init__(self, epoch):
        super().__init__(daemon=True, name=f"prefetch-{epoch}")
        self.epoch = epoch
        self.ready = threading.Event()
        self.stop = threading.Event()
        self.batch = None

    def run(self):
        shard = np.random.default_rng(self.epoch).random((64, 1_000))
        self.batch = shard[:16].mean(axis=0)
        self.ready.set()
        self.stop.wait()  # until the next shard is wanted
        del shard


class Loader:
    def __init__(self):
        self.current = None
        self.held_out = None

    def first_batch(self, epoch):
        if self.current is not None and not driver.LEAK:
            self.current.stop.set()
            self.current.join()
        self.current = Prefetcher(epoch)
        self.current.start()
        self.current.ready.wait()
        return self.current.batch


def main():
    loader = Loader()
    total = 0.0
    for epoch in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            batch = loader.first_batch(epoch)
            driver.work(20)
        with pp.profile_phase("train"):
            total += float(batch.sum())
            driver.work(60)
        with pp.profile_phase("validate"):
            if epoch == 15:
                loader.held_out = np.ones(1_500_000)  # validation on the whole set from here
            driver.work(25)
    driver.finish()


main()
