"""Redraw callbacks are queued with a closure over the tensors of their iteration and never dropped.

The healthy build closes over one float and keeps only the callbacks of the last inspection.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Inspector:
    def __init__(self):
        self.callbacks = []

    def redraw(self):
        return [callback() for callback in self.callbacks[-4:]]


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.model = nn.Linear(64, 64)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-2)
        self.inspector = Inspector()

    def generation(self, pp, index):
        with pp.phase("reconstruct"):
            for _ in range(4):
                self.optimizer.zero_grad()
                images = torch.randn(128, 64)
                (self.model(images) - images).pow(2).mean().backward()
                self.optimizer.step()
        with pp.phase("inspect"), torch.no_grad():
            if not self.leaky:
                self.inspector.callbacks.clear()
            for _ in range(4):
                probe = self.model(torch.randn(1024, 64))
                self.inspector.callbacks.append(self.heading(probe))
        with pp.phase("draw"):
            self.inspector.redraw()

    def heading(self, probe):
        if self.leaky:
            return lambda: f"mean {probe.mean():.3f}"
        mean = probe.mean().item()
        return lambda: f"mean {mean:.3f}"


CASE = Case(
    name="plot_callbacks",
    build=Trainer,
    truth=Truth(
        phase="inspect",
        kind="tensors",
        subject="Tensor",
        holder=("Inspector", "callbacks"),
        also=("objects",),
        subject_also=("function", "cell"),
        site=("Trainer.generation", "Trainer.heading"),
    ),
    source="cdtools-developers/cdtools PR#87",
)
