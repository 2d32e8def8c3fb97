"""SAC-like critics with a meta-learned rate of the soft update."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch

torch.set_num_threads(1)


class Critic:
    def __init__(self):
        self.weights = [(torch.randn(64, 512) / 8).requires_grad_(), (torch.randn(512, 256) / 22).requires_grad_()]
        self.target = [w.detach().clone() for w in self.weights]
        self.tau = torch.tensor(0.05, requires_grad=True)
        self.optimizer = torch.optim.SGD(self.weights, lr=1e-3)

    @staticmethod
    def value(weights, state):
        return torch.tanh(state @ weights[0]) @ weights[1]

    def learn(self, state):
        with torch.no_grad():
            goal = 0.9 * self.value(self.target, state + 0.01)
        loss = (self.value(self.weights, state) - goal).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def soft_update(self, state):
        """Move the target, and the rate with it: the rate has a gradient through this one move."""
        before = self.target if driver.LEAK else [t.detach() for t in self.target]
        self.target = [t * (1 - self.tau) + w.detach().clone() * self.tau for t, w in zip(before, self.weights)]
        moved = self.value(self.target, state)
        (drift,) = torch.autograd.grad(moved.pow(2).mean(), [self.tau], retain_graph=True)
        (spread,) = torch.autograd.grad(moved.var(), [self.tau], retain_graph=True)
        self.tau = (self.tau - 1e-6 * (drift - spread)).detach().clamp(0.01, 0.1).requires_grad_()


def main():
    torch.manual_seed(1)
    critic = Critic()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            states = torch.rand(64, 64)
            driver.work(20)
        with pp.profile_phase("update"):
            with pp.profile_phase("critic"):
                critic.learn(states)
                driver.work(12)
            with pp.profile_phase("sync_target"):
                critic.soft_update(states)
                driver.work(12)
    driver.finish()


main()
