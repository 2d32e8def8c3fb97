"""The training loss is summed as a tensor after backward: only the bare graph nodes stay, a few KB a step.

No type count moves and no tensor bytes show it.  The healthy build adds plain floats.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.total_loss = 0.0
        self.steps = 0

    def generation(self, pp, index):
        with pp.phase("collect"):
            batches = torch.randn(40, 32, 16)
        with pp.phase("train_step"):
            for batch in batches:
                loss = (self.net(batch) - batch.sum(dim=1, keepdim=True)).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.total_loss = self.total_loss + (loss if self.leaky else loss.item())
                self.steps += 1
        with pp.phase("evaluate"), torch.no_grad():
            self.net(torch.randn(256, 16)).mean().item()


CASE = Case(
    name="running_loss_after_backward",
    build=Trainer,
    truth=Truth(
        phase="train_step", kind="autograd graph", holder=("Trainer", "total_loss"), also=("native", "tensors"),
        site=("Trainer.generation",),
    ),
    source="huggingface/transformers#6939 and PR#6999; BatsResearch/labelmodels#4",
    generations=40,
    tags=("hard",),
)
