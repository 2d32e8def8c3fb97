"""Training on a cluster which may preempt it: at each checkpoint a signal handler is set which would save the state."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import signal

import driver
import numpy as np

import phaseprof as pp

SIZE = 120_000


def install(state):
    previous = signal.getsignal(signal.SIGUSR1)

    def on_preempt(number, frame):
        np.savez("preempted.npz", **state)
        if callable(previous):
            previous(number, frame)

    signal.signal(signal.SIGUSR1, on_preempt)
    return previous


def main():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=SIZE)
    before = None
    replay = np.zeros((20, 150_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            replay[generation % 20] = rng.random(150_000)
            driver.work(30)
        with pp.profile_phase("train"):
            weights += 1e-3 * replay[generation % 20, :SIZE]
            driver.work(25)
        with pp.profile_phase("checkpoint"):
            if not driver.LEAK and before is not None:
                signal.signal(signal.SIGUSR1, before)
            before = install({"weights": weights.copy(), "generation": np.array(generation)})
            driver.work(15)
    driver.finish()


main()
