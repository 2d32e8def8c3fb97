"""Procedural levels: the normaliser of each environment is looked up in a map with weak keys."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import weakref

import driver
import numpy as np

import phaseprof as pp


class Env:
    def __init__(self, rng):
        self.terrain = rng.random((220, 220))
        self.time = 0

    def step(self):
        self.time += 1
        return self.terrain[self.time % 220]


class Normaliser:
    def __init__(self, env):
        self.env = env
        self.mean = np.zeros(220)

    def step(self):
        observation = self.env.step()
        self.mean += 0.01 * (observation - self.mean)
        return observation - self.mean


_normalisers = weakref.WeakKeyDictionary()


def normaliser_of(env):
    if env not in _normalisers:
        _normalisers[env] = Normaliser(env if driver.LEAK else weakref.proxy(env))
    return _normalisers[env]


def main():
    rng = np.random.default_rng(0)
    recent = collections.deque(maxlen=16)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("reset"):
            envs = [Env(rng) for _ in range(2)]
            for env in envs:
                normaliser_of(env)
            driver.work(20)
        with pp.profile_phase("play"):
            recent.append(np.array([normaliser_of(env).step() for _ in range(150) for env in envs]))
            driver.work(30)
        with pp.profile_phase("learn"):
            driver.work(20)
    driver.finish()


main()
