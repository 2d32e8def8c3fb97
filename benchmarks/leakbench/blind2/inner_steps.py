"""Meta-learning: each generation adapts fresh copies of a network by a step that is itself differentiated."""

import copy
import time
import warnings

import torch

from leakbench import Case, Truth

warnings.filterwarnings("ignore", message="Using backward")


class MetaLearner:
    def __init__(self, leaky):
        torch.manual_seed(5)
        self.leaky = leaky
        self.net = torch.nn.Sequential(torch.nn.Linear(48, 96), torch.nn.Tanh(), torch.nn.Linear(96, 48))

    def inner_gradients(self, learner, inputs):
        loss = (learner(inputs) - inputs).pow(2).mean()
        if self.leaky:
            loss.backward(create_graph=True)
            return [parameter.grad for parameter in learner.parameters()]
        return torch.autograd.grad(loss, list(learner.parameters()), create_graph=True)

    def generation(self, pp, index):
        with pp.phase("tasks"):
            tasks = [torch.randn(16, 48) for _ in range(2)]
            time.sleep(0.04)
        with pp.phase("adapt"):
            step = 0.0
            for inputs in tasks:
                learner = copy.deepcopy(self.net)
                gradients = self.inner_gradients(learner, inputs)
                step += sum(float(gradient.detach().norm()) for gradient in gradients)
            time.sleep(0.1)
        with pp.phase("outer"):
            with torch.no_grad():
                for parameter in self.net.parameters():
                    parameter.mul_(1 - 1e-6 * step)
            time.sleep(0.06)


CASE = Case(
    name="blind2_inner_steps",
    build=MetaLearner,
    truth=Truth(
        phase="adapt",
        kind="autograd graph",
        subject="Tensor",
        also=("tensors", "native", "objects", "garbage"),
        subject_also=("Parameter", "AccumulateGrad", "TBackward0", "AddmmBackward0"),
    ),
    source="https://github.com/pytorch/pytorch/issues/4661",
    generations=32,
)
