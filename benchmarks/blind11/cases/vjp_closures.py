"""The curvature of the policy is estimated by products with its transposed Jacobian, once a generation."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)


class Curvature:
    def __init__(self):
        self.products = []
        self.estimate = 0.0

    def add(self, product):
        self.products.append(product)

    def update(self, output):
        direction = torch.randn_like(output)
        for product in self.products[-1:]:
            (gradient,) = product(direction)
            self.estimate = 0.9 * self.estimate + 0.1 * float(gradient.detach().square().sum())
        if not driver.LEAK:
            self.products.clear()


def main():
    torch.manual_seed(1)
    policy = torch.nn.Sequential(torch.nn.Linear(32, 160), torch.nn.Tanh(), torch.nn.Linear(160, 160), torch.nn.Tanh(),
                                 torch.nn.Linear(160, 8))
    optimizer = torch.optim.Adam(policy.parameters())
    curvature = Curvature()
    replay = collections.deque(maxlen=20)
    for _ in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("collect"):
            replay.append(torch.randn(192, 32))
            driver.work(45)
        with pp.profile_phase("linearise"):
            output, product = torch.func.vjp(policy, replay[-1])
            driver.work(10)
        with pp.profile_phase("curvature"):
            curvature.add(product)
            curvature.update(output.detach())
            del output, product
            driver.work(20)
        with pp.profile_phase("train"):
            loss = policy(replay[-1]).square().mean() + 1e-4 * curvature.estimate
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(45)
    driver.finish()


main()
