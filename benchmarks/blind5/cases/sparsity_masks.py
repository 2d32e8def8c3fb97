"""Gradual pruning of a policy through torch's parametrizations."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch
from torch import nn
from torch.nn.utils import parametrize

torch.set_num_threads(1)
WIDTH = 384


class Mask(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, weight):
        return weight * self.mask


def keep_largest(weight, share):
    threshold = torch.quantile(weight.abs().flatten()[::16], 1 - share)
    return (weight.abs() >= threshold).float()


def prune(layer, share):
    with torch.no_grad():
        mask = keep_largest(layer.weight, share)
    if driver.LEAK or not parametrize.is_parametrized(layer, "weight"):
        parametrize.register_parametrization(layer, "weight", Mask(mask))
    else:
        layer.parametrizations.weight[0].mask.copy_(mask)


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(32, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            loss = policy(torch.rand(32, 32)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(15)
        with pp.profile_phase("prune"):
            prune(policy[2], 0.95 - 0.01 * generation)
            driver.work(15)
    driver.finish()


main()
