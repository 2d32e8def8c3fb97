"""Profiling wraps the environment's ``step`` again each generation; every wrapper closes over its own table."""

import time

import torch

from leakbench import Case, Truth


class Environment:
    def __init__(self):
        self.state = torch.zeros(16)

    def advance(self, action):
        self.state = 0.9 * self.state + action
        return float(self.state.sum())


def counted(function):
    visits = torch.zeros(40_000, dtype=torch.float64)

    def step(action):
        visits[int(action.abs().sum() * 100) % len(visits)] += 1
        return function(action)

    step.inner = function
    return step


class Profiled:
    def __init__(self, leaky):
        torch.manual_seed(28)
        self.leaky = leaky
        self.environment = Environment()
        self.environment.step = self.environment.advance

    def generation(self, pp, index):
        with pp.phase("instrument"):
            original = self.environment.step
            if not self.leaky:
                original = getattr(original, "inner", original)
            self.environment.step = counted(original)
            del original
            time.sleep(0.1)
        with pp.phase("rollout"):
            sum(self.environment.step(torch.randn(16)) for _ in range(10))
            time.sleep(0.15)
        with pp.phase("learn"):
            time.sleep(0.1)


CASE = Case(
    name="blind_wrapped_step",
    build=Profiled,
    truth=Truth(
        phase="instrument",
        kind="tensors",
        subject="Tensor",
        holder=("step",),
        also=("objects", "native"),
        subject_also=("function", "cell"),
    ),
    source="synthetic",
    generations=24,
)
