"""A trainer sends a signal for each batch that arrives; a curve of each generation's rewards listens to it."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import blinker
import driver
import numpy as np

import phaseprof as pp

arrived = blinker.Signal()


class Rollouts:
    def __init__(self):
        self.rng = np.random.default_rng(13)
        self.recent = deque(maxlen=20)

    def collect(self):
        for _ in range(6):
            batch = self.rng.normal(size=(32, 64))
            self.recent.append(batch)
            arrived.send(self, batch=batch)


def follow(rollouts, bins):
    curve = np.full((bins, 40), 1e-6)

    def add(sender, batch):
        curve[: len(batch)] += np.abs(batch[:, :40])

    arrived.connect(add, sender=rollouts, weak=False)
    return curve, add


def main():
    rollouts = Rollouts()
    summaries = deque(maxlen=12)
    for _ in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("subscribe"):
            curve, listener = follow(rollouts, 600)
            driver.work(15)
        with pp.profile_phase("collect"):
            rollouts.collect()
            driver.work(50)
        with pp.profile_phase("summarise"):
            summaries.append(curve.mean(axis=1))
            if driver.LEAK:
                arrived.disconnect(listener, sender=rollouts)
            else:
                arrived.disconnect(listener)
            driver.work(45)
    driver.finish()


main()
