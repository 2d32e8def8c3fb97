"""The world model's latent states are cached by episode and step, and dropped when their episode leaves the replay."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)
EPISODES = 80


class Latents:
    def __init__(self):
        self.cache = {}

    def encode(self, model, episode, observations):
        with torch.no_grad():
            for step, latent in enumerate(model(observations).split(16)):
                self.cache[episode, step] = latent.clone()

    def evict(self, episode):
        if driver.LEAK:
            self.cache.pop(episode, None)
            return
        for key in [key for key in self.cache if key[0] == episode]:
            del self.cache[key]


def main():
    torch.manual_seed(34)
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 192))
    optimizer = torch.optim.Adam(model.parameters())
    latents = Latents()
    replay = deque()
    for generation in pp.generations(range(driver.generations(95))):
        with pp.profile_phase("collect"):
            for number in range(4):
                replay.append((generation * 4 + number, torch.randn(128, 32)))
            while len(replay) > EPISODES:
                latents.evict(replay.popleft()[0])
            driver.wait(220)
        with pp.profile_phase("encode"):
            for episode, observations in list(replay)[-4:]:
                latents.encode(model, episode, observations)
            driver.wait(180)
            driver.work(20)
        with pp.profile_phase("train"):
            optimizer.zero_grad()
            model(replay[-1][1]).square().mean().backward()
            optimizer.step()
            driver.wait(220)
            driver.work(25)
    driver.finish()


main()
