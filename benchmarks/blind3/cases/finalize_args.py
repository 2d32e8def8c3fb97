"""weakref.finalize of the long-lived runner gets each episode's buffer as an argument, and keeps it as long as the runner lives."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections
import weakref

import numpy as np

import phaseprof as pp


class EpisodeBuffer:
    def __init__(self, seed):
        self.frames = np.random.default_rng(seed).random((60, 400))
        self.rewards = [float(k) for k in range(400)]

    def flush(self):
        return sum(self.rewards)


class Runner:
    def __init__(self):
        self.buffer = None
        self.finalizer = None
        self.returns = collections.deque(maxlen=14)

    @pp.profile_phase("collect")
    def collect(self, generation):
        for k in range(2):
            if self.finalizer is not None and not driver.LEAK:
                self.finalizer.detach()
            self.buffer = EpisodeBuffer(2 * generation + k)
            self.finalizer = weakref.finalize(self, EpisodeBuffer.flush, self.buffer)  # nothing may be lost at exit
        driver.work(40)

    @pp.profile_phase("learn")
    def learn(self):
        self.returns.append(self.buffer.flush() * np.ones(9_000))
        driver.work(45)

    @pp.profile_phase("evaluate")
    def evaluate(self):
        driver.work(20)


def main():
    runner = Runner()
    for generation in pp.generations(range(driver.GENERATIONS)):
        runner.collect(generation)
        runner.learn()
        runner.evaluate()
    driver.finish()


main()
