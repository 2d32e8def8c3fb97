"""Losses go into a statistics list while still attached to their graph."""

import torch
from torch import nn

from leakbench import Case, Truth


class StatCollector:
    def __init__(self):
        self.losses = []


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.stats = StatCollector()

    def generation(self, pp, index):
        with pp.phase("collect"):
            batches = [torch.randn(128, 64) for _ in range(4)]
        with pp.phase("train_step"):
            for batch in batches:
                loss = self.net(batch).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward(retain_graph=True)
                self.optimizer.step()
                self.stats.losses.append(loss if self.leaky else loss.item())
        with pp.phase("log"):
            sum(float(x) for x in self.stats.losses[-4:])


CASE = Case(
    name="loss_list",
    build=Trainer,
    truth=Truth(
        phase="train_step",
        kind="autograd graph",
        subject="Tensor",
        holder=("StatCollector", "losses"),
        also=("tensors", "objects"),
        site=("Trainer.generation",),
    ),
    source="IBM/mi-prometheus#111; TRI-ML/packnet-sfm PR#51; pnnl/neuromancer PR#292",
)
