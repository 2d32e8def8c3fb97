"""A safe policy pays for the cost of its actions, at a price which follows the limit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)


class SafePolicy:
    def __init__(self):
        self.actor = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.Tanh(), torch.nn.Linear(128, 4))
        self.cost = torch.nn.Sequential(torch.nn.Linear(36, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1))
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.price = torch.tensor(1.0)

    def improve(self, states):
        actions = self.actor(states)
        loss = (actions ** 2).mean() + self.price.item() * self.cost(torch.cat([states, actions], -1)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def adjust_price(self, states):
        cost = self.cost(torch.cat([states, self.actor(states)], -1)).mean()
        if not driver.LEAK:
            cost = cost.detach()
        self.price = (self.price + 0.05 * (cost - 0.1)).clamp(0.0, 10.0)


def main():
    torch.manual_seed(0)
    policy = SafePolicy()
    replay = torch.zeros(20, 1_000, 32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = torch.randn(1_000, 32)
            driver.work(20)
        with pp.profile_phase("actor"):
            policy.improve(replay[generation % 20])
            driver.work(20)
        with pp.profile_phase("dual"):
            policy.adjust_price(replay[generation % 20][:512])
            driver.work(15)
    driver.finish()


main()
