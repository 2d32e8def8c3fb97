"""Predicted values are written into a table by state, from which the targets are taken later."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)
STATES = 4096


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
        self.values = torch.zeros(STATES)

    def forward(self, observations):
        return self.net(observations).squeeze(-1)

    def write(self, states, predicted):
        self.values[states] = predicted if driver.LEAK else predicted.detach()

    def targets(self, states, rewards):
        return rewards + 0.97 * self.values[states].detach()


def main():
    torch.manual_seed(4)
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    features = torch.randn(STATES, 32)
    for _ in pp.generations(range(driver.generations(75))):
        with pp.profile_phase("rollout"):
            states = torch.randint(STATES, (256,))
            following = torch.randint(STATES, (256,))
            rewards = features[states, 0].clone()
            driver.work(35)
        with pp.profile_phase("bootstrap"):
            critic.write(following, critic(features[following]))
            driver.work(25)
        with pp.profile_phase("fit"):
            for _ in range(4):
                optimizer.zero_grad()
                loss = (critic(features[states]) - critic.targets(following, rewards)).square().mean()
                loss.backward()
                optimizer.step()
            driver.work(40)
    driver.finish()


main()
