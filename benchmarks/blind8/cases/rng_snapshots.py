"""Episodes can be replayed exactly: the state of the random numbers is noted before each."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import random

import driver
import numpy as np

import phaseprof as pp

EPISODES = 36


def make_recorder():
    states = collections.deque(maxlen=None if driver.LEAK else 4 * EPISODES)

    def record():
        states.append(random.getstate())
        return len(states)

    return record


def play():
    return sum(random.gauss(0, 1) for _ in range(400))


def main():
    random.seed(0)
    rng = np.random.default_rng(0)
    record = make_recorder()
    buffer = np.zeros((20, 120_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            returns = []
            for _ in range(EPISODES):
                record()
                returns.append(play())
            driver.work(15)
        with pp.profile_phase("improve"):
            buffer[generation % 20] = rng.random(120_000)
            buffer[generation % 20, 0] = sum(returns)
            driver.work(40)
    driver.finish()


main()
