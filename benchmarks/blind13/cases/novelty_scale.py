"""The bonus for what is new is divided by the largest error that a predictor made of late."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class Novelty:
    def __init__(self):
        self.target = nn.Linear(40, 32)
        self.predictor = nn.Sequential(nn.Linear(40, 128), nn.Tanh(), nn.Linear(128, 32))
        self.scale = torch.tensor(1.0)

    def errors(self, states):
        with torch.no_grad():
            wanted = self.target(states)
        return (self.predictor(states) - wanted).pow(2).mean(dim=1)

    def bonus(self, states):
        errors = self.errors(states)
        largest = errors.max() if driver.LEAK else errors.detach().max()
        self.scale = torch.maximum(0.99 * self.scale, largest)
        return (errors / self.scale).detach()


def main():
    torch.manual_seed(73)
    novelty = Novelty()
    optimizer = torch.optim.Adam(novelty.predictor.parameters())
    replay = torch.zeros(30, 256, 40)
    for generation in pp.generations(range(driver.generations(118))):
        with pp.profile_phase("explore"):
            states = torch.randn(256, 40)
            replay[generation % 30] = states
            states = states + novelty.bonus(states)[:, None] / 100
            driver.work(70)
        with pp.profile_phase("predict"):
            loss = novelty.errors(states).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(70)
    driver.finish()


main()
