"""A world model carries its recurrent state over generations without detaching it."""

import time

import torch
from torch import nn

from leakbench import Case, Truth


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(32, 96)
        self.belief = torch.zeros(128, 96)

    def advance(self, observation):
        self.belief = self.cell(observation, self.belief)
        return self.belief


class Dreamer:
    def __init__(self, leaky):
        torch.manual_seed(1)
        self.leaky = leaky
        self.model = WorldModel()

    def generation(self, pp, index):
        with pp.phase("observe"):
            observations = torch.randn(3, 128, 32)
            time.sleep(0.1)
        with pp.phase("dream"):
            for observation in observations:
                self.model.advance(observation)
            if not self.leaky:
                self.model.belief = self.model.belief.detach()
            time.sleep(0.15)
        with pp.phase("score"):
            float(self.model.belief.detach().norm())
            time.sleep(0.1)


CASE = Case(
    name="blind_hidden_state",
    build=Dreamer,
    truth=Truth(
        phase="dream",
        kind="autograd graph",
        subject="Tensor",
        holder=("belief",),
        also=("tensors", "objects", "native"),
        subject_also=("Backward", "node"),
    ),
    source="synthetic",
    generations=24,
)
