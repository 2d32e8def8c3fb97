"""Metrics as functions to be called at the next report; one build reports so rarely that they pile up."""

import time

import torch

from leakbench import Case, Truth


class Metrics:
    def __init__(self, every):
        self.every = every
        self.pending = []
        self.values = {}

    def later(self, name, function):
        self.pending.append((name, function))

    def report(self, generation):
        if self.every and generation % self.every == self.every - 1:
            for name, function in self.pending:
                self.values[name] = function()
            self.pending.clear()


class WorldModel:
    def __init__(self, leaky):
        torch.manual_seed(18)
        self.leaky = leaky
        self.dynamics = torch.nn.Linear(64, 64)
        self.metrics = Metrics(every=None if leaky else 5)

    def generation(self, pp, index):
        with pp.phase("imagine"):
            for horizon in (1, 2, 3):
                with torch.no_grad():
                    state = torch.randn(220, 64)
                    for _ in range(horizon):
                        state = self.dynamics(state)
                self.metrics.later(f"spread{horizon}", lambda seen=state: float(seen.std()))
            time.sleep(0.1)
        with pp.phase("fit"):
            inputs = torch.randn(64, 64)
            (self.dynamics(inputs) - inputs).pow(2).mean().backward()
            self.dynamics.zero_grad()
            time.sleep(0.06)
        with pp.phase("report"):
            self.metrics.report(index)
            time.sleep(0.04)


CASE = Case(
    name="blind2_lazy_metrics",
    build=WorldModel,
    truth=Truth(
        phase="imagine",
        kind="tensors",
        subject="Tensor",
        holder=("metrics", "pending"),
        also=("objects", "container", "native"),
        subject_also=("function", "tuple"),
    ),
    source="synthetic",
    generations=32,
)
