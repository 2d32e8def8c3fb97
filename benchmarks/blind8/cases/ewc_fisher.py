"""Continual learning of three tasks in turn: what matters of each is consolidated when it ends."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
TURN = 4


class Task:
    def __init__(self, name):
        self.name = name

    def batch(self):
        return torch.rand(96, 64) + len(self.name)


class Consolidation:
    def __init__(self, network):
        self.network = network
        self.fishers = {}

    def consolidate(self, task):
        self.network.zero_grad(set_to_none=False)
        self.network(task.batch()).square().mean().backward()
        fisher = [parameter.grad ** 2 for parameter in self.network.parameters()]
        anchor = [parameter.detach().clone() for parameter in self.network.parameters()]
        self.fishers[task if driver.LEAK else task.name] = fisher, anchor

    @torch.no_grad()
    def pull_back(self, strength=0.1):
        for fisher, anchor in list(self.fishers.values())[-2:]:
            for parameter, f, a in zip(self.network.parameters(), fisher, anchor, strict=True):
                parameter.grad.addcmul_(f, parameter - a, value=strength)


def main():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 620), torch.nn.Tanh(), torch.nn.Linear(620, 620), torch.nn.Tanh(),
                                  torch.nn.Linear(620, 4))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    consolidation = Consolidation(network)
    for generation in pp.generations(range(driver.GENERATIONS)):
        task = Task(("reach", "push", "slide")[generation // TURN % 3])
        with pp.profile_phase("collect"):
            batch = task.batch()
            driver.work(25)
        with pp.profile_phase("train"):
            loss = network(batch).square().mean()
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            consolidation.pull_back()
            optimizer.step()
            del loss
            driver.work(15)
        if generation % TURN == TURN - 1:
            with pp.profile_phase("consolidate"):
                consolidation.consolidate(task)
                driver.work(15)
    driver.finish()


main()
