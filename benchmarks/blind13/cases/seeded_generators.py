"""Levels are made by generators of random numbers that begin with a level's seed, so that a level can be made again."""

import sys
from collections import OrderedDict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class Levels:
    def __init__(self):
        self.generators = OrderedDict()

    def make(self, seed):
        if seed not in self.generators:
            self.generators[seed] = torch.Generator().manual_seed(seed)
        if not driver.LEAK and len(self.generators) > 800:
            self.generators.popitem(last=False)
        return torch.rand(16, generator=self.generators[seed])


def main():
    torch.manual_seed(79)
    levels = Levels()
    policy = nn.Linear(16, 4)
    optimizer = torch.optim.Adam(policy.parameters())
    returns = torch.zeros(40, 30)
    for generation in pp.generations(range(driver.generations(130))):
        with pp.profile_phase("make"):
            batch = torch.stack([levels.make(40 * generation + k) for k in range(40)])
            driver.work(40)
        with pp.profile_phase("play"):
            with torch.no_grad():
                returns[generation % 40] = policy(batch)[:30, 0]
            driver.work(60)
        with pp.profile_phase("train"):
            loss = -policy(batch).log_softmax(dim=1)[:, 0].mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(45)
    driver.finish()


main()
