"""The heap is frozen before workers are forked, so that they share it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import gc
import os

import numpy as np


class Step:
    def __init__(self, episode, observation):
        self.episode = episode
        self.observation = observation


class Episode:
    def __init__(self, rng, length):
        self.steps = [Step(self, rng.random(64)) for _ in range(length)]
        self.value = float(sum(step.observation[0] for step in self.steps))


def fork_evaluator(value):
    pid = os.fork()
    if pid == 0:
        os._exit(int(value) % 7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def evaluate(value, first):
    if driver.LEAK or first:
        gc.freeze()
    return fork_evaluator(value)


def main():
    rng = np.random.default_rng(0)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            value = 0.0
            for _ in range(5):
                value += Episode(rng, 180).value
            driver.work(40)
        with pp.profile_phase("evaluate"):
            evaluate(value, generation == 0)
            driver.work(40)
        if generation % 6 == 5:
            with pp.profile_phase("collect_garbage"):
                gc.collect()
    driver.finish()


main()
