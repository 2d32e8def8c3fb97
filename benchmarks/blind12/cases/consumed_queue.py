"""Rollouts wait in a queue of our own until the learner takes them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Rollout:
    def __init__(self, worker, rewards):
        self.worker = worker
        self.rewards = rewards


class Backlog:
    """A queue in a list; what was taken is behind `head`."""

    def __init__(self):
        self.rollouts = []
        self.head = 0

    def put(self, rollout):
        self.rollouts.append(rollout)

    def take(self):
        rollout = self.rollouts[self.head]
        self.head += 1
        if not driver.LEAK and self.head > 250:
            del self.rollouts[: self.head]
            self.head = 0
        return rollout

    def __len__(self):
        return len(self.rollouts) - self.head


def main():
    rng = np.random.default_rng(13)
    backlog = Backlog()
    value = np.zeros(600)
    replay = np.zeros((800, 600))
    written = 0
    for _ in pp.generations(range(driver.generations(80))):
        with pp.profile_phase("collect"):
            for worker in range(32):
                backlog.put(Rollout(worker, rng.normal(size=600)))
            driver.work(40)
        with pp.profile_phase("learn"):
            while len(backlog) > 8:
                rollout = backlog.take()
                value += (rollout.rewards - value) / 100
                replay[written % 800] = rollout.rewards
                written += 1
            driver.work(55)
    driver.finish()


main()
