"""Actor threads fill a queue of samples that the learner empties."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import queue
import threading
from dataclasses import dataclass

import numpy as np


@dataclass
class Sample:
    actor: int
    observations: np.ndarray
    rewards: np.ndarray


class Actor(threading.Thread):
    def __init__(self, number, orders, samples):
        super().__init__(name=f"actor-{number}", daemon=True)
        self.number = number
        self.orders = orders
        self.samples = samples
        self.rng = np.random.default_rng(number)

    def run(self):
        while True:
            episodes = self.orders.get()
            for _ in range(episodes):
                self.samples.put(Sample(self.number, self.rng.random((100, 90)), self.rng.random(100)))
            self.orders.task_done()


class Learner:
    BATCH = 12

    def __init__(self, samples):
        self.samples = samples
        self.value = 0.0

    def update(self):
        taken = 0
        while (taken < self.BATCH) if driver.LEAK else not self.samples.empty():
            sample = self.samples.get()
            self.value += 0.01 * (float(sample.rewards.mean()) - self.value)
            taken += 1


def main():
    samples = queue.Queue()
    orders = queue.Queue()
    actors = [Actor(n, orders, samples) for n in range(2)]
    for actor in actors:
        actor.start()
    learner = Learner(samples)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            orders.put(10)
            orders.put(10)
            orders.join()
            driver.work(40)
        with pp.profile_phase("learn"):
            learner.update()
            driver.work(60)
    driver.finish()


main()
