"""Weights are published to actors through shared memory, one copy for each version."""

import time

import torch

from leakbench import Case, Truth


class Publisher:
    def __init__(self, keep):
        self.keep = keep
        self.versions = {}

    def publish(self, number, model):
        weights = [parameter.detach().clone() for parameter in model.parameters()]
        self.versions[number] = [tensor.share_memory_() for tensor in weights]
        if self.keep:
            self.versions.pop(number - self.keep, None)


class ActorLearner:
    def __init__(self, leaky):
        torch.manual_seed(15)
        self.policy = torch.nn.Sequential(torch.nn.Linear(60, 500), torch.nn.ReLU(), torch.nn.Linear(500, 20))
        self.publisher = Publisher(keep=None if leaky else 6)

    def generation(self, pp, index):
        with pp.phase("learn"):
            self.policy(torch.randn(32, 60)).pow(2).mean().backward()
            with torch.no_grad():
                for parameter in self.policy.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
            time.sleep(0.12)
        with pp.phase("publish"):
            self.publisher.publish(index, self.policy)
            time.sleep(0.08)


CASE = Case(
    name="blind2_policy_versions",
    build=ActorLearner,
    truth=Truth(
        phase="publish",
        kind="shared memory",
        subject="Tensor",
        holder=("publisher", "versions"),
        also=("tensors", "descriptors"),
        subject_also=("list", "torch"),
    ),
    source="synthetic",
    generations=32,
)
