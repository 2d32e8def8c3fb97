"""Self-play adds a snapshot of the learner to a league in every generation.

Healthy: the league holds eight and drops the oldest.  Leaky: the league has no cap.
"""

import copy
import random

import torch
from torch import nn

from leakbench import Case, Truth


class Opponent:
    def __init__(self, net, born):
        self.net = copy.deepcopy(net)
        self.born = born


class League:
    def __init__(self, cap):
        self.cap = cap
        self.opponents = []

    def add(self, opponent):
        self.opponents.append(opponent)
        if self.cap and len(self.opponents) > self.cap:
            self.opponents.pop(0)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.random = random.Random(0)
        self.learner = nn.Sequential(nn.Linear(64, 1024), nn.Tanh(), nn.Linear(1024, 256))
        self.optimizer = torch.optim.SGD(self.learner.parameters(), 1e-3)
        self.league = League(cap=None if leaky else 8)

    def generation(self, pp, index):
        with pp.phase("update_league"):
            self.league.add(Opponent(self.learner, index))
        with pp.phase("self_play"), torch.no_grad():
            states = torch.randn(64, 64)
            rival = self.random.choice(self.league.opponents).net(states)
        with pp.phase("train_step"):
            self.optimizer.zero_grad()
            (self.learner(states) - rival - 0.1).pow(2).mean().backward()
            self.optimizer.step()


CASE = Case(
    name="league_pool",
    build=Trainer,
    truth=Truth(
        phase="update_league",
        kind="objects",
        subject="Opponent",
        holder=("League", "opponents"),
        also=("tensors", "container"),
        subject_also=("Parameter", "Tensor", "Sequential", "list"),
        site=("Trainer.generation", "Opponent.__init__"),
    ),
    source="synthetic",
)
