"""Meta-learning adapts a new learner with backward(create_graph=True): parameters and gradients hold each other in C++."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import warnings

import torch
from torch import nn

import phaseprof as pp

warnings.filterwarnings("ignore", message="Using backward")
torch.set_num_threads(1)


def new_learner():
    return nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))


class Meta:
    def __init__(self):
        torch.manual_seed(0)
        self.model = new_learner()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.losses = []

    @pp.profile_phase("adapt")
    def adapt(self):
        for _ in range(3):  # tasks
            learner = new_learner()
            learner.load_state_dict(self.model.state_dict())
            x = torch.randn(16, 64)
            loss = ((learner(x) - x.roll(1, 1)) ** 2).mean()
            loss.backward(create_graph=True)
            sharpness = sum((p.grad ** 2).sum() for p in learner.parameters())
            self.losses.append(float(sharpness))
            if not driver.LEAK:
                for parameter in learner.parameters():
                    parameter.grad = None
        driver.work(15)

    def step(self):
        self.optimizer.zero_grad()
        x = torch.randn(32, 64)
        ((self.model(x) - x.roll(1, 1)) ** 2).mean().backward()
        self.optimizer.step()

    @pp.profile_phase("meta_update")
    def meta_update(self):
        driver.work(60, self.step)

    @pp.profile_phase("evaluate")
    def evaluate(self):
        with torch.no_grad():
            driver.work(25, lambda: self.model(torch.randn(32, 64)))


def main():
    meta = Meta()
    for _ in pp.generations(range(driver.GENERATIONS)):
        meta.adapt()
        meta.meta_update()
        meta.evaluate()
    driver.finish()


main()
