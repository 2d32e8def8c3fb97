"""Episodes are generators; those that the step budget interrupts are put aside to be resumed, which never happens."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections

import numpy as np

import phaseprof as pp


def episode(seed, horizon):
    rng = np.random.default_rng(seed)
    world = rng.random((120, 120))
    trail = []
    for step in range(horizon):
        trail.append((step, float(world[step % 120, 0])))
        yield trail[-1]


class Runner:
    def __init__(self):
        self.paused = [] if driver.LEAK else collections.deque()
        self.rewards = 0.0

    @pp.profile_phase("collect")
    def collect(self, generation):
        for k in range(4):
            steps = episode(100 * generation + k, 200)
            for step, reward in steps:
                self.rewards += reward
                if step == 60 + 20 * k:  # the budget of steps is spent
                    self.paused.append(steps)
                    break
        if not driver.LEAK:
            while len(self.paused) > 40:
                self.paused.popleft().close()
        driver.work(35)

    @pp.profile_phase("learn")
    def learn(self):
        driver.work(50)

    @pp.profile_phase("log")
    def log(self):
        driver.work(15)


def main():
    runner = Runner()
    for generation in pp.generations(range(driver.GENERATIONS)):
        runner.collect(generation)
        runner.learn()
        runner.log()
    driver.finish()


main()
