"""Signals know what they were made from; a baseline of returns is blended from one generation into the next."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(200)


class Signal(np.ndarray):
    def __new__(cls, values, name):
        signal = np.asarray(values).view(cls)
        signal.name = name
        return signal

    def __array_finalize__(self, source):
        self.name = getattr(source, "name", None)
        self.source = source if driver.LEAK else type(source).__name__


def main():
    rng = np.random.default_rng(19)
    replay = collections.deque(maxlen=60)
    baseline = Signal(np.zeros(6000), "return")
    advantage = 0.0
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("rollout"):
            returns = Signal(rng.normal(size=6000), "return")
            replay.append(rng.normal(size=(150, 64)))
            driver.work(30)
        with pp.profile_phase("baseline"):
            baseline = 0.95 * baseline + 0.05 * returns
            driver.work(20)
        with pp.profile_phase("improve"):
            advantage += float(np.asarray(returns).mean() - np.asarray(baseline).mean())
            driver.work(35)
    driver.finish()


main()
