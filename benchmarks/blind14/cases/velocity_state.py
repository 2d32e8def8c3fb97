"""A regression of returns with an optimiser of the program's own, which has a momentum and a state for each tensor."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp


class HeavyBall(torch.optim.Optimizer):
    def __init__(self, parameters, lr=0.01, momentum=0.9):
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                state = self.state[gradient if driver.LEAK else parameter]
                velocity = state.get("velocity")
                if velocity is None:
                    velocity = state["velocity"] = torch.zeros_like(parameter)
                velocity.mul_(group["momentum"]).add_(gradient)
                parameter.add_(velocity, alpha=-group["lr"])


def main():
    torch.manual_seed(71)
    critic = torch.nn.Sequential(torch.nn.Linear(48, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1))
    optimiser = HeavyBall(critic.parameters())
    target = torch.randn(48, 1)
    replay = deque(maxlen=40)
    losses = deque(maxlen=50)
    for generation in pp.generations(range(driver.generations(118))):
        with pp.profile_phase("collect"):
            states = torch.randn(64, 48)
            replay.append((states, torch.tanh(states @ target)))
            driver.work(75)
        with pp.profile_phase("learn"):
            for _ in range(3):
                states, returns = replay[int(torch.randint(len(replay), ()))]
                loss = torch.nn.functional.mse_loss(critic(states), returns)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
            losses.append(loss.item())
            driver.work(75)
    driver.finish()


main()
