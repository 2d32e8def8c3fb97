"""A transformer as a policy: its attention turns vectors by their positions, for which it has tables."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

WIDTH = 64


class Rotation(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rates = 10_000 ** (-torch.arange(WIDTH) / WIDTH)
        self.register_buffer("cosines", torch.empty(0, WIDTH), persistent=False)
        self.register_buffer("sines", torch.empty(0, WIDTH), persistent=False)

    def forward(self, vectors, positions):
        needed = int(positions[-1]) + 1
        if needed > len(self.cosines):
            angles = torch.arange(needed)[:, None] * self.rates
            self.cosines, self.sines = angles.cos(), angles.sin()
        a, b = vectors[:, ::2], vectors[:, 1::2]
        turned = torch.stack((-b, a), dim=-1).flatten(1)
        return vectors * self.cosines[positions] + turned * self.sines[positions]


class Agent:
    def __init__(self):
        self.rotation = Rotation()
        self.steps = 0

    def play(self, length):
        start = self.steps if driver.LEAK else 0
        vectors = self.rotation(torch.randn(length, WIDTH), torch.arange(start, start + length))
        self.steps += length
        return torch.softmax(vectors @ vectors.T / 8, dim=-1).mean().item()


def main():
    torch.manual_seed(211)
    agent = Agent()
    values = deque(maxlen=40)
    replay = deque(maxlen=24)
    for generation in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("play"):
            with torch.no_grad():
                for length in (200, 120, 100):
                    values.append(agent.play(length))
            driver.work(50)
        with pp.profile_phase("learn"):
            replay.append(torch.randn(100, WIDTH))
            driver.work(60)
    driver.finish()


main()
