"""A diagnosis registers a forward hook with its own probe on the world model each time; the handle is thrown away."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections

import numpy as np
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(32, 128), nn.Tanh())
        self.decoder = nn.Linear(128, 32)

    def forward(self, x):
        return self.decoder(self.encoder(x))


class ActivationProbe:
    def __init__(self):
        self.histogram = np.zeros((128, 128))
        self.calls = 0

    def __call__(self, module, inputs, output):
        if self.calls < 3:
            self.histogram[:, self.calls] = output.detach().mean(0).numpy()
        self.calls += 1


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.world = WorldModel()
        self.optimizer = torch.optim.SGD(self.world.parameters(), lr=1e-2)
        self.mean = 0.0
        self.dreams = collections.deque(maxlen=48)

    def step(self):
        x = torch.randn(64, 32)
        self.optimizer.zero_grad()
        ((self.world(x) - x) ** 2).mean().backward()
        self.optimizer.step()

    @pp.profile_phase("train_world")
    def train_world(self):
        driver.work(60, self.step)

    @pp.profile_phase("diagnose")
    def diagnose(self):
        probe = ActivationProbe()
        handle = self.world.encoder.register_forward_hook(probe)
        with torch.no_grad():
            for _ in range(3):
                self.world(torch.randn(64, 32))
        self.mean = float(probe.histogram.mean())
        if not driver.LEAK:
            handle.remove()
        driver.work(10)

    @pp.profile_phase("imagine")
    def imagine(self):
        with torch.no_grad():
            for _ in range(3):
                self.dreams.append(self.world(torch.randn(400, 32)))
        driver.work(30)


def main():
    trainer = Trainer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        trainer.train_world()
        trainer.diagnose()
        trainer.imagine()
    driver.finish()


main()
