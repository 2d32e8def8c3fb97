"""A validation loop stores its outputs on itself.

Healthy: they are replaced when the next validation starts, so memory steps up once and stays.
Leaky: each validation adds to those before.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class ValidationLoop:
    def __init__(self):
        self.outputs = []


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Linear(32, 64)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.validation = ValidationLoop()

    def generation(self, pp, index):
        with pp.phase("train_epoch"):
            for _ in range(8):
                self.optimizer.zero_grad()
                self.net(torch.randn(256, 32)).pow(2).mean().backward()
                self.optimizer.step()
        if index % 2 == 1:
            with pp.phase("validate"), torch.no_grad():
                if not self.leaky:
                    self.validation.outputs = []
                for _ in range(8):
                    self.validation.outputs.append(self.net(torch.randn(1024, 32)))
        with pp.phase("log"):
            sum(output.mean().item() for output in self.validation.outputs[-8:])


CASE = Case(
    name="validation_outputs",
    build=Trainer,
    truth=Truth(
        phase="validate",
        kind="tensors",
        subject="Tensor",
        holder=("ValidationLoop", "outputs"),
        also=("objects", "container"),
        subject_also=("list",),
        site=("Trainer.generation",),
    ),
    source="Lightning-AI/pytorch-lightning#5735, #1510",
)
