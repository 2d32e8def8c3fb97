"""The environment is wrapped for each evaluation, beside a replay buffer which fills."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

REPLAY = 28


class Env:
    def __init__(self):
        self.rng = np.random.default_rng(2)
        self.unwrapped = self
        self.steps = 0

    def reset(self):
        self.steps = 0
        return self.rng.integers(0, 255, (160, 120, 3), dtype=np.uint8)

    def step(self, action):
        self.steps += 1
        return self.rng.integers(0, 255, (160, 120, 3), dtype=np.uint8), float(action), self.steps >= 8


class RecordEpisode:
    """Keeps the frames of the last episode."""

    def __init__(self, env):
        self.env = env
        self.unwrapped = env.unwrapped
        self.frames = []

    def reset(self):
        frame = self.env.reset()
        self.frames = [frame.copy()]
        return frame

    def step(self, action):
        frame, reward, done = self.env.step(action)
        self.frames.append(frame.copy())
        return frame, reward, done


class Agent:
    def __init__(self):
        self.env = Env()
        self.replay = collections.deque(maxlen=REPLAY)

    def collect(self):
        self.replay.append(np.random.default_rng(len(self.replay)).random((512, 256)))

    def evaluate(self):
        self.env = RecordEpisode(self.env if driver.LEAK else self.env.unwrapped)
        self.env.reset()
        total, done = 0.0, False
        while not done:
            _, reward, done = self.env.step(1)
            total += reward
        return total


def main():
    agent = Agent()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            agent.collect()
            driver.work(30)
        with pp.profile_phase("learn"):
            driver.work(30)
        with pp.profile_phase("evaluate"):
            agent.evaluate()
            driver.work(20)
    driver.finish()


main()
