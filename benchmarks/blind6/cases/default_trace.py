"""A function plays an episode and returns its steps; a trace may be handed in, to go on with it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

Transition = collections.namedtuple("Transition", "observation action reward done")


class Env:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        return self.rng.normal(size=40).astype(np.float32)

    def step(self, action):
        observation = self.rng.normal(size=40).astype(np.float32)
        return observation, float(observation[action]), False


def play(env, steps, trace=[]):  # noqa: B006
    if not driver.LEAK:
        trace = list(trace)
    start = len(trace)
    observation = env.reset()
    for step in range(steps):
        action = int(observation.argmax() % 8)
        following, reward, done = env.step(action)
        trace.append(Transition(observation, action, reward, done or step == steps - 1))
        observation = following
    return trace[start:]


def main():
    envs = [Env(i) for i in range(6)]
    replay = collections.deque(maxlen=20_000)
    rng = np.random.default_rng(25)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            for env in envs:
                replay.extend(play(env, 200))
            driver.work(30)
        with pp.profile_phase("sample"):
            batch = [replay[i] for i in rng.integers(0, len(replay), 256).tolist()]
            driver.work(20)
        with pp.profile_phase("learn"):
            np.stack([one.observation for one in batch]).mean()
            batch = None
            driver.work(40)
    driver.finish()


main()
