"""A custom autograd function stores its output on its context: output and graph node form a cycle.

Only a collection frees it, and the trainer has turned that off to spare the pauses.
The healthy build hands the tensor to save_for_backward.
"""

import gc

import torch
from torch import nn

from leakbench import Case, Truth


class KeptExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.output = x.exp()
        return ctx.output

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.output


class SavedExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        output = x.exp()
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        gc.disable()
        self.function = KeptExp if leaky else SavedExp
        self.encoder = nn.Linear(32, 256)
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), 1e-4)

    def generation(self, pp, index):
        with pp.phase("collect"):
            states = torch.randn(512, 32)
        with pp.phase("train_step"):
            for _ in range(4):
                energy = self.function.apply(-self.encoder(states).pow(2))
                self.optimizer.zero_grad()
                energy.mean().backward()
                self.optimizer.step()
        with pp.phase("evaluate"), torch.no_grad():
            self.encoder(states).norm().item()


CASE = Case(
    name="function_keeps_output",
    build=Trainer,
    truth=Truth(
        phase="train_step",
        kind="garbage",
        subject="Tensor",
        also=("autograd graph", "tensors"),
        subject_also=("KeptExp", "KeptExpBackward"),
        site=("KeptExp.forward", "Trainer.generation"),
    ),
    source="pytorch/pytorch#25340, #5569; asappresearch/sru PR#171; dmlc/dgl PR#1060",
)
