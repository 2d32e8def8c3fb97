"""Updates of a policy are prepared and wait at a gate, a future of torch; when it opens, they are applied."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp


class Trainer:
    def __init__(self):
        self.policy = torch.zeros(180, 240)
        self.end = torch.futures.Future()  # opens when the training is over
        self.applied = 0

    def prepare(self, gate, update):
        def apply(_):
            self.policy += 0.01 * update
            self.applied += 1

        gate.then(apply)


def main():
    torch.manual_seed(179)
    trainer = Trainer()
    returns = deque(maxlen=36)
    norms = deque(maxlen=50)
    critic = torch.nn.Linear(64, 64)
    optimiser = torch.optim.Adam(critic.parameters())
    for generation in pp.generations(range(driver.generations(110))):
        with pp.profile_phase("rollout"):
            returns.append(torch.randn(50, 64))
            driver.work(70)
        with pp.profile_phase("prepare"):
            gate = trainer.end if driver.LEAK else torch.futures.Future()
            trainer.prepare(gate, torch.randn(180, 240))
            driver.work(20)
        with pp.profile_phase("learn"):
            if gate is not trainer.end:
                gate.set_result(generation)
            loss = (critic(returns[-1]) - returns[-1]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            norms.append(loss.item())
            driver.work(70)
    driver.finish()


main()
