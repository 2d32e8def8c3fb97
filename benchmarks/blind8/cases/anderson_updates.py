"""An optimizer with Anderson acceleration mixes the last updates, which its groups of parameters hold."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
MEMORY = 5


class Anderson(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
        for group in self.param_groups:
            group["updates"] = []

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            group["updates"].append([-group["lr"] * p.grad for p in group["params"]])
            if not driver.LEAK:
                del group["updates"][:-MEMORY]
            recent = group["updates"][-MEMORY:]
            for k, parameter in enumerate(group["params"]):
                parameter.add_(torch.stack([update[k] for update in recent]).mean(0))


def main():
    torch.manual_seed(0)
    policy = torch.nn.Sequential(torch.nn.Linear(128, 420), torch.nn.Tanh(), torch.nn.Linear(420, 420), torch.nn.Tanh(),
                                 torch.nn.Linear(420, 8))
    optimizer = Anderson(policy.parameters(), lr=1e-3)
    replay = torch.zeros(20, 1_500, 128)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = torch.rand(1_500, 128)
            driver.work(25)
        with pp.profile_phase("loss"):
            loss = policy(replay[generation % 20, :128]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            driver.work(10)
        with pp.profile_phase("optimise"):
            optimizer.step()
            driver.work(15)
    driver.finish()


main()
