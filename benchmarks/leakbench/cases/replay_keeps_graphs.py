"""A bounded replay buffer starts each rollout from its newest recurrent state, graph and all.

The buffer is full and its items are of one size, but the history behind the newest one goes back to the first step.
The healthy build stores detached states.
"""

from collections import deque

import torch
from torch import nn

from leakbench import Case, Truth


class ReplayBuffer:
    def __init__(self, capacity):
        self.states = deque([torch.zeros(32, 128)], maxlen=capacity)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.cell = nn.GRUCell(16, 128)
        self.replay = ReplayBuffer(16)
        self.value = nn.Linear(128, 1)
        self.optimizer = torch.optim.SGD(self.value.parameters(), 1e-2)

    def generation(self, pp, index):
        with pp.phase("collect"):
            state = self.replay.states[-1]
            for _ in range(12):
                state = self.cell(torch.randn(32, 16), state)
                self.replay.states.append(state if self.leaky else state.detach())
        with pp.phase("train_step"):
            batch = torch.cat([state.detach() for state in self.replay.states])
            self.optimizer.zero_grad()
            self.value(batch).pow(2).mean().backward()
            self.optimizer.step()


CASE = Case(
    name="replay_keeps_graphs",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="autograd graph",
        subject="Tensor",
        holder=("ReplayBuffer", "states"),
        also=("tensors",),
        subject_also=("deque",),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
