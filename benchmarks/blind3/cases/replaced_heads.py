"""Each generation the task head is replaced; the optimizer keeps the groups and the moments of the old heads."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class Continual:
    def __init__(self):
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(32, 128), nn.ReLU())
        self.head = nn.Linear(128, 128)
        self.optimizer = torch.optim.Adam(self.body.parameters(), lr=1e-3)
        self.optimizer.add_param_group({"params": list(self.head.parameters())})

    @pp.profile_phase("new_task")
    def new_task(self, generation):
        outputs = 160 if generation % 2 else 96  # classes of the task
        if not driver.LEAK:
            for parameter in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(parameter, None)
        self.head = nn.Linear(128, outputs)
        self.optimizer.add_param_group({"params": list(self.head.parameters())})
        driver.work(10)

    def step(self):
        x = torch.randn(32, 32)
        loss = (self.head(self.body(x)) - x.repeat(1, self.head.out_features // 32)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    @pp.profile_phase("train")
    def train(self):
        driver.work(70, self.step)

    @pp.profile_phase("evaluate")
    def evaluate(self):
        with torch.no_grad():
            driver.work(25, lambda: self.head(self.body(torch.randn(32, 32))))


def main():
    continual = Continual()
    for generation in pp.generations(range(driver.GENERATIONS)):
        continual.new_task(generation)
        continual.train()
        continual.evaluate()
    driver.finish()


main()
