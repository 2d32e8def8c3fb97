"""Each inner learner is adapted with backward(create_graph=True): parameter, gradient and graph form a cycle.

Part of the cycle runs through C++, so no Python object holds the learner and no collection frees it.
The healthy build asks torch.autograd.grad for the gradients.
"""

import warnings

import torch
from torch import nn

from leakbench import Case, Truth


class MetaLearner:
    def __init__(self, leaky):
        torch.manual_seed(0)
        warnings.filterwarnings("ignore", message="Using backward")
        self.leaky = leaky
        self.rate = nn.Parameter(torch.tensor(0.1))
        self.optimizer = torch.optim.SGD([self.rate], 1e-3)

    def gradients(self, learner, loss):
        if self.leaky:
            loss.backward(create_graph=True)
            return [p.grad for p in learner.parameters()]
        return torch.autograd.grad(loss, list(learner.parameters()), create_graph=True)

    def adapt(self, tasks):
        learner = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))
        gradients = self.gradients(learner, learner(tasks).pow(2).mean())
        return sum((self.rate * g).pow(2).sum() for g in gradients).detach()

    def generation(self, pp, index):
        with pp.phase("sample_tasks"):
            tasks = torch.randn(128, 64)
        with pp.phase("adapt"):
            losses = [self.adapt(tasks) for _ in range(3)]
        with pp.phase("meta_step"):
            self.optimizer.zero_grad()
            (self.rate * torch.stack(losses).mean()).backward()
            self.optimizer.step()


CASE = Case(
    name="create_graph_cycle",
    build=MetaLearner,
    truth=Truth(
        phase="adapt",
        kind="autograd graph",
        also=("tensors", "objects"),
        site=("MetaLearner.adapt", "MetaLearner.gradients"),
    ),
    source="pytorch/pytorch#4661; the documentation of torch.autograd.backward warns of it",
)
