"""The features of the world model are noted at their node of the graph, for the messages of failures."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(48, 256), nn.Tanh())
        self.decoder = nn.Linear(256, 48)

    def forward(self, observations):
        features = self.encoder(observations)
        note = features if driver.LEAK else features.detach()
        features.grad_fn.metadata["features"] = note
        return self.decoder(features)


def main():
    torch.manual_seed(14)
    model = WorldModel()
    optimizer = torch.optim.Adam(model.parameters())
    replay = torch.zeros(20, 256, 48)
    for generation in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("observe"):
            replay[generation % 20] = torch.randn(256, 48)
            driver.work(40)
        with pp.profile_phase("model"):
            observations = replay[generation % 20]
            loss = (model(observations) - observations).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(40)
        with pp.profile_phase("imagine"), torch.no_grad():
            model.decoder(model.encoder(replay[generation % 20]))
            driver.work(30)
    driver.finish()


main()
