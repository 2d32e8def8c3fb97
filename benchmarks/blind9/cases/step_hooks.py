"""A policy is distilled, and after a while adapted with a report of how far each step moved its features."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
STAGE = driver.GENERATIONS // 3


class Adapter:
    def __init__(self):
        self.policy = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.drift = 0.0

    def report_drift(self, observations):
        before = self.policy[:2](observations).detach()

        def measure(optimizer, args, kwargs):
            with torch.no_grad():
                self.drift = float((self.policy[:2](observations[:16]) - before[:16]).norm())

        return self.optimizer.register_step_post_hook(measure)

    def step(self, observations):
        self.optimizer.zero_grad()
        self.policy(observations).logsumexp(-1).mean().backward()
        self.optimizer.step()

    def adapt(self, observations):
        handle = self.report_drift(observations)
        self.step(observations)
        if not driver.LEAK:
            handle.remove()


def main():
    torch.manual_seed(0)
    adapter = Adapter()
    replay = torch.zeros(20, 400, 64)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = torch.randn(400, 64)
            driver.work(25)
        with pp.profile_phase("distil"):
            adapter.step(replay[generation % 20])
            driver.work(15)
        with pp.profile_phase("adapt"):
            if generation >= STAGE:
                adapter.adapt(replay[generation % 20].clone())
            driver.work(20)
    driver.finish()


main()
