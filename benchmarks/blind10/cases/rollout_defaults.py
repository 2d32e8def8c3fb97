"""Rollouts of an agent are cut into segments, and a learner reads some of them."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

HORIZON = 50


def cut_segments(rollout, horizon, segments=[]):  # noqa: B006
    if not driver.LEAK:
        segments = list(segments)
    for start in range(0, len(rollout) - horizon + 1, horizon):
        segments.append(rollout[start:start + horizon].copy())
    return segments[-8:]


class Learner:
    def __init__(self):
        self.weights = np.zeros(64)
        self.recent = collections.deque(maxlen=20)

    def learn(self, segments):
        for segment in segments:
            self.weights += 0.01 * np.tanh(segment).mean(0)


def main():
    rng = np.random.default_rng(0)
    learner = Learner()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            rollout = rng.normal(size=(800, 64)) + learner.weights
            learner.recent.append(rollout)
            driver.work(35)
        with pp.profile_phase("segment"):
            segments = cut_segments(rollout, HORIZON)
            driver.work(20)
        with pp.profile_phase("learn"):
            learner.learn(segments)
            driver.work(35)
    driver.finish()


main()
