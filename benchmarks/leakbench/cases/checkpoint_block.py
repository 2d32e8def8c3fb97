"""One phase holds the whole update, in blocks that checkpoints name; the imagined rollouts of one block stay.

The healthy build forgets them when the update is over.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Imagination:
    def __init__(self):
        self.rollouts = []


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.model = nn.Linear(64, 64)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-3)
        self.imagination = Imagination()

    def generation(self, pp, index):
        with pp.phase("update"):
            with pp.checkpoint("encoder"):
                state = torch.randn(128, 64)
                loss = (self.model(state) - state).pow(2).mean()
            with pp.checkpoint("imagine"), torch.no_grad():
                for _ in range(12):
                    state = self.model(state).tanh()
                    self.imagination.rollouts.append(state)
            with pp.checkpoint("backward"):
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if not self.leaky:
                self.imagination.rollouts.clear()


CASE = Case(
    name="checkpoint_block",
    build=Trainer,
    truth=Truth(
        phase="imagine",
        kind="tensors",
        subject="Tensor",
        holder=("Imagination", "rollouts"),
        also=("objects", "container"),
        subject_also=("list",),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
