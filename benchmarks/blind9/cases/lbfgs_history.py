"""A pendulum's potential is fitted with L-BFGS, one long optimisation over fresh samples."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
HISTORY = 1_000 if driver.LEAK else 8


class Potential(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.Tanh(),
                                       torch.nn.Linear(256, 192), torch.nn.Tanh(), torch.nn.Linear(192, 1))

    def forward(self, state):
        return self.net(state).squeeze(-1)


class Fitter:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.LBFGS(model.parameters(), lr=0.05, max_iter=2, history_size=HISTORY)

    def fit(self, states, energies):
        def closure():
            self.optimizer.zero_grad()
            loss = ((self.model(states) - energies) ** 2).mean()
            loss.backward()
            return loss

        return self.optimizer.step(closure).item()


def main():
    torch.manual_seed(0)
    fitter = Fitter(Potential())
    window = torch.zeros(20, 2_000, 16)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            window[generation % 20] = torch.randn(2_000, 16)
            driver.work(25)
        with pp.profile_phase("fit"):
            states = window[generation % 20][:400]
            fitter.fit(states, states.square().sum(-1) / 16)
            driver.work(20)
        with pp.profile_phase("validate"):
            driver.work(15)
    driver.finish()


main()
