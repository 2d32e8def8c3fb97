"""Training of a population with slow weights (Lookahead); the worst take over the weights of the best now and then."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import copy

import torch

torch.set_num_threads(1)
AGENTS, EVERY = 6, 4


class Lookahead:
    """Around an optimizer: each few steps towards the slow weights."""

    slow = {}

    def __init__(self, parameters, lr):
        self.parameters = list(parameters)
        self.inner = torch.optim.Adam(self.parameters, lr=lr)
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.inner.step()
        self.steps += 1
        for p in self.parameters:
            if p not in self.slow:
                self.slow[p] = p.detach().clone()
            elif self.steps % 5 == 0:
                self.slow[p] += 0.5 * (p - self.slow[p])
                p.copy_(self.slow[p])

    def close(self):
        for p in self.parameters:
            self.slow.pop(p, None)


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = Lookahead(net.parameters(), lr)
        self.score = 0.0

    def train(self):
        x = torch.randn(32, 64)
        loss = (self.net(x) - x[:, :16]).pow(2).mean()
        self.optimizer.inner.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.score = -loss.item()


def network():
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 16))


def exploit(trainers):
    trainers.sort(key=lambda one: one.score)
    for i in range(3):
        if not driver.LEAK:
            trainers[i].optimizer.close()
        trainers[i] = Trainer(copy.deepcopy(trainers[-1 - i].net), 1e-3)


def main():
    torch.manual_seed(0)
    trainers = [Trainer(network(), 10 ** -(2 + i / 3)) for i in range(AGENTS)]
    replay = torch.zeros(24, 512, 128)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 24] = torch.rand(512, 128)
            driver.work(20)
        with pp.profile_phase("train"):
            for trainer in trainers:
                trainer.train()
            driver.work(30)
        with pp.profile_phase("exploit"):
            if generation % EVERY == EVERY - 1:
                exploit(trainers)
            driver.work(15)
    driver.finish()


main()
