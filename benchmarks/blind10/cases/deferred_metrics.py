"""A regression is trained, and from a third of the run on its report notes how far the weights have moved."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
GENERATIONS = driver.generations(120)
STAGE = GENERATIONS // 3


class Report:
    def __init__(self):
        self.deferred = []

    def later(self, name, measure):
        if not driver.LEAK:
            value = measure()
            measure = lambda value=value: value  # noqa: E731
        self.deferred.append((name, measure))

    def print(self):
        print({name: round(measure(), 3) for name, measure in self.deferred[-3:]})


class Trainer:
    def __init__(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(80, 300), torch.nn.ReLU(), torch.nn.Linear(300, 80))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.report = Report()

    def step(self, batch):
        self.optimizer.zero_grad()
        (self.model(batch) - batch).pow(2).mean().backward()
        self.optimizer.step()

    def note(self, generation):
        now = torch.cat([p.detach().flatten() for p in self.model.parameters()])
        self.report.later(f"norm {generation}", lambda: float(now.norm()))


def main():
    torch.manual_seed(5)
    trainer = Trainer()
    recent = torch.zeros(40, 300, 80)
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("load"):
            recent[generation % 40] = torch.randn(300, 80)
            driver.work(40)
        with pp.profile_phase("train"):
            trainer.step(recent[generation % 40])
            driver.work(50)
        with pp.profile_phase("report"):
            if generation >= STAGE:
                trainer.note(generation)
            driver.work(45)
    trainer.report.print()
    driver.finish()


main()
