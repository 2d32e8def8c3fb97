"""The actors' transitions are one stream, of which the learner takes a batch a generation."""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Transition:
    __slots__ = ("observation", "reward")

    def __init__(self, observation, reward):
        self.observation = observation
        self.reward = reward


class Stream:
    def __init__(self):
        self.rest = iter(())
        self.waiting = 0

    def feed(self, transitions):
        self.rest = itertools.chain(self.rest, transitions)
        self.waiting += len(transitions)

    def take(self, count):
        if not driver.LEAK:
            count = max(count, self.waiting - 1_500)
        taken = list(itertools.islice(self.rest, count))
        self.waiting -= len(taken)
        return taken


def main():
    rng = np.random.default_rng(5)
    stream = Stream()
    value = np.zeros(80)
    for _ in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("act"):
            fresh = [Transition(row, sum(row[:4])) for row in rng.normal(size=(160, 80)).tolist()]
            stream.feed(fresh)
            del fresh
            driver.work(50)
        with pp.profile_phase("learn"):
            batch = stream.take(96)
            for transition in batch[:50]:
                value += 0.001 * transition.reward * np.array(transition.observation)
            del batch
            driver.work(60)
    driver.finish()


main()
