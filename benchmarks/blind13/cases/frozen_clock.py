"""Encoded goals are cached for a while; the clock of the cache is that of the episode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cachetools
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class Clock:
    def __init__(self):
        self.episode = 0
        self.steps = 0

    def reset(self):
        self.episode = 0

    def tick(self):
        self.episode += 1
        self.steps += 1


class Goals:
    def __init__(self, clock):
        self.encoder = nn.Linear(32, 256)
        timer = (lambda: clock.episode) if driver.LEAK else (lambda: clock.steps)
        self.encoded = cachetools.TTLCache(maxsize=100_000, ttl=150, timer=timer)

    def encode(self, goal):
        if goal not in self.encoded:
            with torch.no_grad():
                self.encoded[goal] = self.encoder(torch.full((8, 32), goal / 1e6))
        return self.encoded[goal]


def main():
    torch.manual_seed(67)
    clock = Clock()
    goals = Goals(clock)
    value = nn.Linear(256, 1)
    optimizer = torch.optim.Adam(value.parameters())
    for _ in pp.generations(range(driver.generations(128))):
        with pp.profile_phase("rollout"):
            clock.reset()
            for _ in range(30):
                clock.tick()
                goal = int(torch.randint(1_000_000_000, ()))
                seen = goals.encode(goal)
            driver.work(85)
        with pp.profile_phase("train"):
            loss = value(seen).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(60)
    driver.finish()


main()
