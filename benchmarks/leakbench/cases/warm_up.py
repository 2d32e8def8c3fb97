"""The first generations import modules late, meet new batch sizes and make scratch buffers.

Healthy: six such generations, each with some megabytes and thousands of objects, and then none.
"""

import importlib

import torch
from torch import nn

from leakbench import Case, Truth

LATE_MODULES = (
    "xml.dom.minidom",
    "sqlite3",
    "wsgiref.simple_server",
    "torch.distributions",
    "unittest.mock",
    "ensurepip",
)


class ScratchPool:
    def __init__(self):
        self.buffers = {}

    def get(self, rows):
        if rows not in self.buffers:
            self.buffers[rows] = torch.zeros(rows, 2048)
        return self.buffers[rows]


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.scratch = ScratchPool()
        self.net = nn.Linear(32, 2048)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-3)
        self.modules = []

    def generation(self, pp, index):
        rows = 32 * (1 + index % 6)
        with pp.phase("prepare"):
            if index < len(LATE_MODULES):
                self.modules.append(importlib.import_module(LATE_MODULES[index]))
        with pp.phase("train_step"):
            scratch = self.scratch.get(rows)
            scratch.copy_(self.net(torch.randn(rows, 32)).detach())
            self.optimizer.zero_grad()
            self.net(torch.randn(rows, 32)).sub(scratch).pow(2).mean().backward()
            self.optimizer.step()
        with pp.phase("log"):
            scratch.norm().item()


CASE = Case(
    name="warm_up",
    build=Trainer,
    truth=Truth(phase="", kind="objects"),
    source="synthetic",
    leaky_build=False,
)
