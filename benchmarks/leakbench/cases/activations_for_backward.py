"""A forward hook stores activations that only backward takes away; a probe without backward leaves them.

The healthy hook skips forward passes that record no gradients.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class SampleNorms:
    """Per-sample gradient norms of one layer, from its inputs and its output gradients."""

    def __init__(self, layer, always):
        self.always = always
        self.activations = []
        self.norms = None
        layer.register_forward_hook(self.capture)
        layer.register_full_backward_hook(self.consume)

    def capture(self, layer, inputs, output):
        if self.always or torch.is_grad_enabled():
            self.activations.append(inputs[0].detach())

    def consume(self, layer, grad_input, grad_output):
        self.norms = self.activations.pop().norm(dim=1) * grad_output[0].norm(dim=1)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.policy = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 8))
        self.optimizer = torch.optim.SGD(self.policy.parameters(), 1e-3)
        self.norms = SampleNorms(self.policy[2], always=leaky)

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for _ in range(4):
                self.optimizer.zero_grad()
                self.policy(torch.randn(256, 32)).pow(2).mean().backward()
                self.optimizer.step()
        with pp.phase("probe_policy"), torch.no_grad():
            for _ in range(4):
                self.policy(torch.randn(256, 32)).argmax(dim=1)


CASE = Case(
    name="activations_for_backward",
    build=Trainer,
    truth=Truth(
        phase="probe_policy",
        kind="tensors",
        subject="Tensor",
        holder=("SampleNorms", "activations"),
        also=("objects",),
        site=("SampleNorms.capture",),
    ),
    source="meta-pytorch/opacus#176",
)
