"""The best model so far is copied whenever the score improves, now and then.

Healthy: the copy replaces the one before.  Leaky: all best models are kept, a staircase of uneven steps.
"""

import copy

import torch
from torch import nn

from leakbench import Case, Truth


class ModelSelection:
    def __init__(self):
        self.best_models = []


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 8))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.selection = ModelSelection()

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for _ in range(3):
                self.optimizer.zero_grad()
                self.net(torch.randn(64, 64)).pow(2).mean().backward()
                self.optimizer.step()
        with pp.phase("evaluate"), torch.no_grad():
            self.net(torch.randn(256, 64)).pow(2).mean().item()
            improved = index * 7 % 10 < 4
        with pp.phase("select_model"):
            if improved:
                if not self.leaky:
                    self.selection.best_models.clear()
                self.selection.best_models.append(copy.deepcopy(self.net))


CASE = Case(
    name="best_model_copies",
    build=Trainer,
    truth=Truth(
        phase="select_model",
        kind="tensors",
        subject="Parameter",
        holder=("ModelSelection", "best_models"),
        also=("objects", "container"),
        subject_also=("Tensor", "Sequential", "Linear", "list"),
        site=("Trainer.generation",),
    ),
    source="synthetic",
    generations=36,
)
