"""Population based training; the observation statistics of an agent live beside it, as long as it lives."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import weakref

import numpy as np

_NORMALIZERS = weakref.WeakKeyDictionary()


class Agent:
    def __init__(self, weights, rate):
        self.weights = weights
        self.rate = rate
        self.score = 0.0


class Normalizer:
    def __init__(self, agent):
        self.mean = np.zeros(256)
        self.agent = agent if driver.LEAK else weakref.ref(agent)

    def update(self, obs):
        self.mean += 0.05 * (obs - self.mean)


def normalizer_of(agent):
    if agent not in _NORMALIZERS:
        _NORMALIZERS[agent] = Normalizer(agent)
    return _NORMALIZERS[agent]


class PopulationTrainer:
    def __init__(self, size=8):
        self.rng = np.random.default_rng(2)
        self.members = [Agent(self.rng.normal(size=(128, 160)), 1e-3) for _ in range(size)]
        for agent in self.members:
            normalizer_of(agent)

    @pp.profile_phase("train_members")
    def train(self):
        for agent in self.members:
            obs = self.rng.normal(size=256)
            normalizer_of(agent).update(obs)
            agent.weights *= 0.999
            agent.score = float(self.rng.random())
        driver.work(60)

    @pp.profile_phase("exploit")
    def exploit(self):
        ranked = sorted(self.members, key=lambda a: a.score)
        for loser, winner in zip(ranked[:2], ranked[-2:]):
            fresh = Agent(winner.weights + self.rng.normal(scale=0.02, size=winner.weights.shape), winner.rate * 1.2)
            normalizer_of(fresh).mean[:] = normalizer_of(winner).mean
            self.members[self.members.index(loser)] = fresh
        driver.work(40)


def main():
    trainer = PopulationTrainer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        trainer.train()
        trainer.exploit()
    driver.finish()


main()
