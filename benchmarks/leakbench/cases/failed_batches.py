"""Errors of failed batches are kept whole; their tracebacks hold the frames and all tensors in them.

The healthy build keeps the text of the last few errors.
"""

from collections import deque

import torch
from torch import nn

from leakbench import Case, Truth


class ErrorLog:
    def __init__(self, leaky):
        self.errors = [] if leaky else deque(maxlen=20)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Linear(128, 32)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.log = ErrorLog(leaky)

    def step(self, broken):
        batch = torch.randn(1024, 128)
        if broken:
            batch[0, 0] = float("nan")
        loss = self.net(batch).pow(2).mean()
        if not torch.isfinite(loss):
            raise FloatingPointError("loss is not finite")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def try_step(self, broken):
        try:
            self.step(broken)
        except FloatingPointError as error:
            self.log.errors.append(error if self.leaky else repr(error))

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for number in range(6):
                self.try_step(broken=number % 3 == 2)
        with pp.phase("evaluate"), torch.no_grad():
            self.net(torch.randn(256, 128)).mean().item()


CASE = Case(
    name="failed_batches",
    build=Trainer,
    truth=Truth(
        phase="train_step",
        kind="tensors",
        subject="Tensor",
        holder=("ErrorLog", "errors"),
        also=("objects", "autograd graph"),
        subject_also=("FloatingPointError", "frame", "traceback"),
        site=("Trainer.step",),
    ),
    source="pytorch/pytorch#10348, #27600",
)
