"""A network is pruned a little more after every round of training."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch.nn.utils import prune

import phaseprof as pp

torch.set_num_threads(1)


class Pruner:
    def __init__(self, layer):
        self.layer = layer
        self.share = 0.0

    def tighten(self):
        self.share = min(0.8, self.share + 0.01)
        weight = self.layer.weight.detach().abs()
        mask = (weight > weight.flatten()[::7].quantile(self.share)).float()
        if not driver.LEAK and prune.is_pruned(self.layer):
            prune.remove(self.layer, "weight")
        prune.custom_from_mask(self.layer, "weight", mask)


def train(layer, batch):
    loss = layer(batch).square().mean()
    loss.backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.sub_(parameter.grad, alpha=1e-3)
            parameter.grad = None


def main():
    torch.manual_seed(0)
    layer = torch.nn.Linear(320, 400)
    pruner = Pruner(layer)
    window = torch.zeros(20, 200, 320)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            window[generation % 20] = torch.randn(200, 320)
            driver.work(20)
        with pp.profile_phase("train"):
            train(layer, window[generation % 20])
            driver.work(25)
        with pp.profile_phase("prune"):
            pruner.tighten()
            driver.work(15)
    driver.finish()


main()
