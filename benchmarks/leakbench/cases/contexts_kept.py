"""A probe keeps the context of a custom autograd function to look at later, and with it all saved tensors.

The healthy build keeps the number that it wanted to look at.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class GradientProbe:
    def __init__(self, keep_contexts):
        self.keep_contexts = keep_contexts
        self.contexts = []

    def see(self, ctx, grad):
        self.contexts.append(ctx if self.keep_contexts else grad.norm().item())


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, probe):
        ctx.save_for_backward(x)
        ctx.probe = probe
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.probe.see(ctx, grad)
        return grad * (x.abs() <= 1), None


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.probe = GradientProbe(leaky)
        self.net = nn.Linear(32, 256)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)

    def generation(self, pp, index):
        with pp.phase("load_batch"):
            batches = torch.randn(3, 256, 32)
        with pp.phase("train_step"):
            for batch in batches:
                output = Clip.apply(self.net(batch).pow(2), self.probe)
                self.optimizer.zero_grad()
                output.mean().backward(retain_graph=True)
                self.optimizer.step()


CASE = Case(
    name="contexts_kept",
    build=Trainer,
    truth=Truth(
        phase="train_step",
        kind="autograd graph",
        subject="ClipBackward",
        holder=("GradientProbe", "contexts"),
        also=("tensors", "objects", "container"),
        subject_also=("Tensor", "list"),
        site=("Trainer.generation", "Clip.forward"),
    ),
    source="synthetic",
)
