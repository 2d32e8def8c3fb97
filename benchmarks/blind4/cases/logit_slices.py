"""Fine-tuning with an evaluation that samples a few logits of each round for a report."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


class Meter:
    def __init__(self, keep=24):
        self.samples = [] if driver.LEAK else deque(maxlen=keep)

    def record(self, logits):
        few = logits[-1, :8]
        self.samples.append(few if driver.LEAK else few.clone())

    def mean(self):
        return torch.stack(list(self.samples)).mean().item()


class Evaluator:
    def __init__(self, head):
        self.head = head
        self.meter = Meter()
        self.validation = torch.randn(96, 64)

    @pp.profile_phase("evaluate")
    def run(self):
        with torch.no_grad():
            logits = self.head(self.validation)
        self.meter.record(logits)
        driver.work(30)
        return self.meter.mean()


class Trainer:
    def __init__(self):
        self.head = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2048))
        self.optimizer = torch.optim.Adam(self.head.parameters(), lr=1e-3)
        self.evaluator = Evaluator(self.head)

    @pp.profile_phase("load")
    def load(self):
        driver.work(20)
        return torch.randn(16, 64), torch.randint(0, 2048, (16,))

    @pp.profile_phase("train")
    def train(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(self.head(x), y).backward()
        self.optimizer.step()
        driver.work(50)


def main():
    trainer = Trainer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        trainer.train(*trainer.load())
        trainer.evaluator.run()
    driver.finish()


main()
