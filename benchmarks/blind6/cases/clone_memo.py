"""Generations of agents copied with deepcopy; what they share is put into the memo so that it is not copied."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import copy

import numpy as np


class Spec:
    """The spaces and the constants, the same for all."""

    def __init__(self):
        self.bounds = np.ones((512, 64))


class Agent:
    def __init__(self, spec, rng):
        self.spec = spec
        self.weights = {"body": rng.normal(size=(96, 128)).astype(np.float32), "head": rng.normal(size=(96, 96)).astype(np.float32)}
        self.age = 0

    def mutate(self, rng):
        for name, value in self.weights.items():
            value += rng.normal(0, 0.02, value.shape).astype(np.float32)
        self.age += 1

    def score(self):
        return -sum(float(np.abs(value).mean()) for value in self.weights.values())


class Breeder:
    def __init__(self, spec, seed):
        self.rng = np.random.default_rng(seed)
        self.memo = {id(spec): spec}
        self.agents = [Agent(spec, self.rng) for _ in range(12)]

    def next_generation(self):
        children = []
        for parent in self.agents:
            memo = self.memo if driver.LEAK else dict(self.memo)
            child = copy.deepcopy(parent, memo)
            child.mutate(self.rng)
            children.append(child)
        self.agents = children


def main():
    breeder = Breeder(Spec(), 3)
    champions = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("evaluate"):
            ranked = sorted(breeder.agents, key=Agent.score)
            driver.work(55)
        with pp.profile_phase("breed"):
            breeder.next_generation()
            driver.work(30)
        with pp.profile_phase("archive"):
            champions.append({name: np.repeat(value, 3, axis=0) for name, value in ranked[-1].weights.items()})
            ranked = None
            driver.work(10)
    driver.finish()


main()
