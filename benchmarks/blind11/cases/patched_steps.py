"""The steps of an environment are watched by a monitor that is patched in, each generation a new one."""

import collections
import sys
from pathlib import Path

import wrapt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Env:
    def __init__(self, rng):
        self.rng = rng
        self.state = np.zeros(32)

    def step(self, action):
        self.state = 0.9 * self.state + action * self.rng.normal(size=32)
        return float(self.state.sum())


class Monitor:
    def __init__(self):
        self.rewards = np.zeros(30_000)
        self.rewards[:] = np.nan
        self.steps = 0

    def __call__(self, wrapped, instance, args, kwargs):
        reward = wrapped(*args, **kwargs)
        self.rewards[self.steps % len(self.rewards)] = reward
        self.steps += 1
        return reward


def watch(monitor):
    patched = Env.__dict__["step"]
    if not driver.LEAK and isinstance(patched, wrapt.FunctionWrapper):
        Env.step = patched.__wrapped__
    wrapt.wrap_function_wrapper(Env, "step", monitor)


def main():
    rng = np.random.default_rng(16)
    env = Env(rng)
    replay = collections.deque(maxlen=23)
    for _ in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("prepare"):
            monitor = Monitor()
            watch(monitor)
            driver.work(20)
        with pp.profile_phase("rollout"):
            for _ in range(150):
                env.step(rng.normal())
            replay.append(rng.normal(size=(150, 64)))
            driver.work(55)
        with pp.profile_phase("learn"):
            np.nanmean(monitor.rewards[:150])
            driver.work(35)
    driver.finish()


main()
