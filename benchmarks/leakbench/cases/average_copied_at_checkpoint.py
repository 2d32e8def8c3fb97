"""Each checkpoint deep-copies an averaged model that refers to itself, while automatic collection is off.

A staircase of dead copies with a step at every third generation.  The healthy build copies the state only.
"""

import copy
import gc

import torch
from torch import nn

from leakbench import Case, Truth


class AveragedModel(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = copy.deepcopy(net)
        self.on_step = self.update

    @torch.no_grad()
    def update(self, net):
        for mean, value in zip(self.net.parameters(), net.parameters()):
            mean.lerp_(value, 0.1)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        gc.disable()
        self.leaky = leaky
        self.net = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 8))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.average = AveragedModel(self.net)

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for _ in range(3):
                self.optimizer.zero_grad()
                self.net(torch.randn(64, 64)).pow(2).mean().backward()
                self.optimizer.step()
                self.average.on_step(self.net)
        with pp.phase("checkpoint"):
            if index % 3 == 2:
                if self.leaky:
                    state = copy.deepcopy(self.average).state_dict()
                else:
                    state = {name: value.clone() for name, value in self.average.state_dict().items()}
                sum(value.numel() for value in state.values())


CASE = Case(
    name="average_copied_at_checkpoint",
    build=Trainer,
    truth=Truth(
        phase="checkpoint", kind="garbage", subject="Parameter", subject_also=("Tensor", "AveragedModel", "Linear"),
        site=("Trainer.generation",),
    ),
    source="lucidrains/ema-pytorch#35",
    generations=36,
)
