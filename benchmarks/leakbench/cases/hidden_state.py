"""A recurrent hidden state is fed from step to step undetached, so its history spans the whole run.

The healthy build cuts the history at the start of each rollout: a bounded sawtooth within the phase.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Agent:
    def __init__(self):
        self.cell = nn.GRUCell(16, 128)
        self.head = nn.Linear(128, 4)
        self.hidden = torch.zeros(64, 128)

    def act(self, observation):
        self.hidden = self.cell(observation, self.hidden)
        return self.head(self.hidden).argmax(dim=1)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.agent = Agent()
        self.value = nn.Linear(16, 1)
        self.optimizer = torch.optim.SGD(self.value.parameters(), 1e-2)

    def generation(self, pp, index):
        with pp.phase("rollout"):
            if not self.leaky:
                self.agent.hidden = self.agent.hidden.detach()
            observation = torch.randn(64, 16)
            for _ in range(16):
                action = self.agent.act(observation)
                observation = observation.roll(1, dims=1) + 0.1 * action.unsqueeze(1)
        with pp.phase("update_value"):
            for _ in range(4):
                self.optimizer.zero_grad()
                self.value(observation).pow(2).mean().backward()
                self.optimizer.step()


CASE = Case(
    name="hidden_state",
    build=Trainer,
    truth=Truth(
        phase="rollout", kind="autograd graph", subject="Tensor", holder=("Agent", "hidden"), also=("tensors",),
        site=("Agent.act",),
    ),
    source="pytorch/pytorch#2198",
)
