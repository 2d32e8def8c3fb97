"""Recurrent world model agent: the belief is carried from step to step while it acts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

from collections import deque

import torch
from torch import nn

torch.set_num_threads(1)


class WorldModel(nn.Module):
    def __init__(self, obs_dim=48, hidden=128):
        super().__init__()
        self.encoder = nn.Linear(obs_dim, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.decoder = nn.Linear(hidden, obs_dim)

    def observe(self, obs, belief):
        return self.cell(torch.tanh(self.encoder(obs)), belief)


class DreamAgent:
    def __init__(self, envs=32):
        self.model = WorldModel()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        self.belief = torch.zeros(envs, 128)
        self.experience = deque(maxlen=120)
        self.envs = envs

    def collect(self, steps=6):
        for _ in range(steps):
            obs = torch.randn(self.envs, 48)
            self.belief = self.model.observe(obs, self.belief)
            if not driver.LEAK:
                self.belief = self.belief.detach()
            self.experience.append((obs, self.belief.detach()))
        driver.work(35)

    def train(self):
        total = 0.0
        for obs, belief in list(self.experience)[-4:]:
            predicted = self.model.decoder(self.model.observe(obs, belief))
            loss = (predicted - obs).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        driver.work(45)
        return total

    def imagine(self, horizon=5):
        with torch.no_grad():
            state = torch.zeros(self.envs, 128)
            for _ in range(horizon):
                state = self.model.observe(self.model.decoder(state), state)
        driver.work(20)
        return state.abs().mean().item()


def main():
    agent = DreamAgent()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            agent.collect()
        with pp.profile_phase("train_model"):
            agent.train()
        with pp.profile_phase("imagine"):
            agent.imagine()
    driver.finish()


main()
