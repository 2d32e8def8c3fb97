"""Each task gets a new head; the optimizer keeps the parameter group and the moments of every old one."""

import time

import torch
from torch import nn

from leakbench import Case, Truth


class Continual:
    def __init__(self, leaky):
        torch.manual_seed(4)
        self.leaky = leaky
        self.body = nn.Linear(32, 256)
        self.head = None
        self.optimizer = torch.optim.Adam(self.body.parameters(), 1e-3)

    def new_head(self):
        if self.head is not None and not self.leaky:
            group = self.optimizer.param_groups.pop()
            for parameter in group["params"]:
                self.optimizer.state.pop(parameter, None)
        self.head = nn.Linear(256, 256)
        self.optimizer.add_param_group({"params": list(self.head.parameters())})

    def generation(self, pp, index):
        with pp.phase("load_task"):
            x, y = torch.randn(64, 32), torch.randn(64, 256)
            time.sleep(0.1)
        with pp.phase("learn_task"):
            self.new_head()
            for _ in range(2):
                self.optimizer.zero_grad()
                (self.head(torch.relu(self.body(x))) - y).pow(2).mean().backward()
                self.optimizer.step()
            time.sleep(0.15)
        with pp.phase("evaluate"), torch.no_grad():
            self.head(torch.relu(self.body(x)))
            time.sleep(0.1)


CASE = Case(
    name="blind_task_heads",
    build=Continual,
    truth=Truth(
        phase="learn_task",
        kind="tensors",
        subject="Tensor",
        holder=("optimizer",),
        also=("objects", "native"),
        subject_also=("Parameter",),
    ),
    source="synthetic",
    generations=24,
)
