"""A planner whose search is a function in a function; the collector is off, since its pauses are felt in the loop."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import gc

import numpy as np

DEPTH, BRANCHES = 5, 3


def plan(model, root):
    values = model[: root + 40].copy()
    visits = np.zeros_like(values)

    def descend(state, depth):
        visits[state % len(visits)] += 1
        if depth == DEPTH:
            return values[state % len(values)].max()
        return max(descend(state * BRANCHES + i, depth + 1) for i in range(BRANCHES)) * 0.99

    return descend(root, 0)


class Agent:
    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.model = self.rng.random((160, 128))
        self.plans = 0

    def act(self):
        self.plans += 1
        return plan(self.model, int(self.rng.integers(60)))


def main():
    gc.collect()
    gc.disable()
    agent = Agent()
    replay = np.zeros((400, 30, 100))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("plan"):
            for _ in range(8):
                agent.act()
                driver.work(3)
        with pp.profile_phase("store"):
            at = generation * 17 % 400
            replay[at:at + 17] = agent.rng.random((min(17, 400 - at), 30, 100))
            driver.work(10)
        with pp.profile_phase("improve"):
            driver.work(30)
            if generation % 6 == 5 and not driver.LEAK:
                gc.collect()
    driver.finish()


main()
