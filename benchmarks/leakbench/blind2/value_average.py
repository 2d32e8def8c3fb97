"""A running mean of predicted values, used to scale returns, which carries its history along."""

import time

import torch

from leakbench import Case, Truth


class ReturnScale:
    __slots__ = ("keep_graph", "mean")

    def __init__(self, keep_graph):
        self.keep_graph = keep_graph
        self.mean = torch.zeros(())

    def update(self, values):
        level = values.mean() if self.keep_graph else values.detach().mean()
        self.mean = 0.98 * self.mean + 0.02 * level


class ActorCritic:
    def __init__(self, leaky):
        torch.manual_seed(4)
        self.critic = torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
        self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=1e-3)
        self.scale = ReturnScale(keep_graph=leaky)
        self.last_episode = None

    def generation(self, pp, index):
        with pp.phase("play"):
            steps = min(1200, 200 + 100 * index)  # episodes grow longer until they reach the limit
            self.last_episode = torch.randn(steps, 24)
            time.sleep(0.08)
        with pp.phase("advantage"):
            for _ in range(4):
                chosen = torch.randint(steps, (32,))
                self.scale.update(self.critic(self.last_episode[chosen]))
            time.sleep(0.05)
        with pp.phase("learn"):
            target = torch.full((64, 1), float(self.scale.mean))
            loss = (self.critic(self.last_episode[:64]) - target).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.08)


CASE = Case(
    name="blind2_value_average",
    build=ActorCritic,
    truth=Truth(
        phase="advantage",
        kind="autograd graph",
        subject="Tensor",
        holder=("scale", "mean"),
        also=("tensors", "native"),
        subject_also=("AddBackward0", "MulBackward0", "MeanBackward0", "AddmmBackward0", "TanhBackward0"),
    ),
    source="https://github.com/alexhernandezgarcia/gflownet/pull/133",
    generations=38,
    tags=("slow",),
)
