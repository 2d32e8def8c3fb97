"""Continual fine-tuning of a frozen language model head: one low-rank adapter a task."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


class LowRank(nn.Module):
    def __init__(self, width, rank=32):
        super().__init__()
        self.down = nn.Parameter(torch.randn(width, rank) * 0.02)
        self.up = nn.Parameter(torch.zeros(rank, width))

    def forward(self, x):
        return x @ self.down @ self.up


class FineTuner:
    def __init__(self, width=384):
        self.width = width
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.norm = nn.LayerNorm(width)
        self.optimizer = torch.optim.AdamW(self.norm.parameters(), lr=1e-3)
        self.adapter = None

    def swap_adapter(self):
        if self.adapter is not None and not driver.LEAK:
            group = self.optimizer.param_groups.pop()
            for parameter in group["params"]:
                self.optimizer.state.pop(parameter, None)
        self.adapter = LowRank(self.width)
        self.optimizer.add_param_group({"params": list(self.adapter.parameters()), "lr": 5e-3})

    @pp.profile_phase("prepare_batch")
    def batch(self):
        driver.work(25)
        return torch.randn(32, self.width)

    @pp.profile_phase("finetune")
    def finetune(self, x):
        with pp.checkpoint("adapter"):
            self.swap_adapter()
        with pp.checkpoint("steps"):
            for _ in range(3):
                loss = F.mse_loss(self.norm(self.base(x) + self.adapter(x)), x)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.optimizer.zero_grad()
        driver.work(45)
        return loss.item()

    @pp.profile_phase("evaluate")
    def evaluate(self, x):
        with torch.no_grad():
            error = F.mse_loss(self.norm(self.base(x) + self.adapter(x)), x).item()
        driver.work(30)
        return error


def main():
    tuner = FineTuner()
    for _ in pp.generations(range(driver.GENERATIONS)):
        x = tuner.batch()
        tuner.finetune(x)
        tuner.evaluate(x)
    driver.finish()


main()
