"""Asynchronous actor-critic: the learner publishes its weights in shared memory for the actors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch
from torch import nn

torch.set_num_threads(1)


class WeightServer:
    def __init__(self, history=3):
        self.history = history
        self.version = 0
        self.versions = {}

    def publish(self, model):
        flat = torch.nn.utils.parameters_to_vector(p.detach() for p in model.parameters())
        self.versions[self.version] = flat.clone().share_memory_()
        if not driver.LEAK:
            self.versions.pop(self.version - self.history, None)
        self.version += 1

    def latest(self):
        return self.versions[self.version - 1]


class Learner:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 4))
        self.actor = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 4))
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), lr=1e-4)
        self.server = WeightServer()

    @pp.profile_phase("publish")
    def publish(self):
        self.server.publish(self.model)
        driver.work(20)

    @pp.profile_phase("act")
    def act(self):
        torch.nn.utils.vector_to_parameters(self.server.latest().clone(), self.actor.parameters())
        with torch.no_grad():
            obs = torch.randn(32, 64)
            choice = self.actor(obs)
        driver.work(40)
        return obs, choice

    @pp.profile_phase("learn")
    def learn(self, obs, choice):
        self.optimizer.zero_grad()
        (self.model(obs) - choice - 0.1).pow(2).mean().backward()
        self.optimizer.step()
        driver.work(40)


def main():
    learner = Learner()
    for _ in pp.generations(range(driver.GENERATIONS)):
        learner.publish()
        learner.learn(*learner.act())
    driver.finish()


main()
