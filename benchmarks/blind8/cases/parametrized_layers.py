"""Evolution strategies on a network: each generation lays fresh low-rank noise over its weights."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch.nn.utils import parametrize

import phaseprof as pp

torch.set_num_threads(1)
WIDTH = 360


class Perturbed(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("delta", torch.randn(WIDTH, 8) @ torch.randn(8, WIDTH) * scale)

    def forward(self, weight):
        return weight + self.delta


class Strategy:
    def __init__(self):
        first, last = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.network = torch.nn.Sequential(first, torch.nn.Tanh(), last)
        self.scores = []

    def perturb(self):
        for layer in (self.network[0], self.network[2]):
            if not driver.LEAK and parametrize.is_parametrized(layer, "weight"):
                parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
            parametrize.register_parametrization(layer, "weight", Perturbed(1e-4))

    @torch.no_grad()
    def rollout(self, observations):
        self.scores.append(self.network(observations).mean().item())


def main():
    torch.manual_seed(0)
    strategy = Strategy()
    window = torch.zeros(16, 512, WIDTH)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("perturb"):
            strategy.perturb()
            driver.work(20)
        with pp.profile_phase("rollout"):
            window[generation % 16] = torch.rand(512, WIDTH)
            strategy.rollout(window[generation % 16])
            driver.work(30)
    driver.finish()


main()
