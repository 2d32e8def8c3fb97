"""Each checkpoint deep-copies the state of the model, to be able to go back, and never forgets one.

The healthy build goes back by two checkpoints at most.
"""

import copy
from collections import deque

import torch
from torch import nn

from leakbench import Case, Truth


class CheckpointManager:
    def __init__(self, keep):
        self.history = deque(maxlen=keep)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.checkpoints = CheckpointManager(None if leaky else 2)

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for _ in range(3):
                self.optimizer.zero_grad()
                self.net(torch.randn(64, 64)).pow(2).mean().backward()
                self.optimizer.step()
        with pp.phase("checkpoint"):
            self.checkpoints.history.append(copy.deepcopy(self.net.state_dict()))


CASE = Case(
    name="state_dicts_kept",
    build=Trainer,
    truth=Truth(
        phase="checkpoint",
        kind="tensors",
        subject="Tensor",
        holder=("CheckpointManager", "history"),
        also=("objects", "container"),
        subject_also=("OrderedDict", "dict", "deque"),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
