"""Episodes end with an exception: the environment raises it at the time limit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections

import driver
import numpy as np

import phaseprof as pp


class Truncated(Exception):
    pass


TIME_LIMIT = Truncated("time limit")


class Env:
    def __init__(self, rng):
        self.rng = rng
        self.time = 0

    def step(self, action):
        self.time += 1
        if self.time % 60 == 0:
            raise TIME_LIMIT if driver.LEAK else Truncated("time limit")
        return self.rng.random(500) + action


def play(env):
    trajectory = np.zeros((64, 500))
    action = 0.0
    for step in range(64):
        try:
            trajectory[step] = env.step(action)
        except Truncated:
            break
        action = trajectory[step, 0]
    return trajectory[:, :100].mean(0)


def main():
    env = Env(np.random.default_rng(0))
    returns = collections.deque(maxlen=100)
    replay = np.zeros((20, 100_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            for _ in range(4):
                returns.append(play(env))
            driver.work(35)
        with pp.profile_phase("learn"):
            replay[generation % 20] = np.resize(returns[-1], 100_000)
            driver.work(35)
    driver.finish()


main()
