"""A worker says by an eventfd that the batch is there for which the trainer asked."""

import os
import queue
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Worker(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.requests = queue.Queue()
        self.batches = {}

    def run(self):
        rng = np.random.default_rng(26)
        while True:
            number, done = self.requests.get()
            if number is None:
                return
            self.batches[number] = rng.normal(size=(100, 60))
            os.eventfd_write(done, 1)


def main():
    worker = Worker()
    worker.start()
    mean = np.zeros(60)
    for generation in pp.generations(range(driver.generations(200))):
        with pp.profile_phase("request"):
            done = os.eventfd(0)
            worker.requests.put((generation, done))
            driver.work(30)
        with pp.profile_phase("wait"):
            os.eventfd_read(done)
            batch = worker.batches.pop(generation)
            if not driver.LEAK:
                os.close(done)
            driver.work(15)
        with pp.profile_phase("train"):
            mean = 0.9 * mean + 0.1 * batch.mean(0)
            driver.work(40)
    driver.finish()
    worker.requests.put((None, None))
    worker.join()


main()
