"""The running baseline of the advantages is not detached: the contexts of a custom autograd function keep each batch."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import collections

import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class RunningMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, old, values, rate):
        ctx.save_for_backward(values)
        ctx.rate = rate
        return (1 - rate) * old + rate * values.mean()

    @staticmethod
    def backward(ctx, gradient):
        (values,) = ctx.saved_tensors
        return (1 - ctx.rate) * gradient, ctx.rate * gradient.expand_as(values) / values.numel(), None


class ActorCritic:
    def __init__(self):
        torch.manual_seed(0)
        self.critic = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
        self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=1e-2)
        self.baseline = torch.zeros(())
        self.recent = collections.deque(maxlen=200)

    @pp.profile_phase("collect")
    def collect(self):
        self.observations = torch.randn(512, 16)
        driver.work(30)

    @pp.profile_phase("advantage")
    def advantage(self):
        values = self.critic(self.observations)
        self.baseline = RunningMean.apply(self.baseline, values, 0.05)
        if not driver.LEAK:
            self.baseline = self.baseline.detach()
        self.advantages = (values - self.baseline).detach()
        self.recent.append(float(self.baseline))

    def step(self):
        values = self.critic(self.observations)
        self.optimizer.zero_grad()
        (values - self.advantages).square().mean().backward()
        with torch.no_grad():
            for parameter in self.critic.parameters():
                parameter.sub_(1e-3 * parameter.grad)

    @pp.profile_phase("update")
    def update(self):
        driver.work(60, self.step)


def main():
    agent = ActorCritic()
    for _ in pp.generations(range(driver.GENERATIONS)):
        agent.collect()
        agent.advantage()
        agent.update()
    driver.finish()


main()
