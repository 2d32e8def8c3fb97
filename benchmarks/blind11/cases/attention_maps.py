"""The attention of a world model is recorded from some generation on, and the last map is painted."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(width, heads, batch_first=True)
        self.recording = False
        self.maps = []

    def forward(self, x):
        mixed, weights = self.inner(x, x, x, need_weights=self.recording, average_attn_weights=False)
        if self.recording:
            self.maps.append(weights.detach())
        return mixed


class WorldModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = torch.nn.Linear(24, 32)
        self.attention = Attention(32, 4)
        self.decode = torch.nn.Linear(32, 24)

    def forward(self, x):
        return self.decode(self.attention(torch.tanh(self.encode(x))))


def paint(attention, canvas):
    if attention.maps:
        canvas += attention.maps[-1].mean((0, 1))
        if not driver.LEAK:
            attention.maps.clear()


def main():
    torch.manual_seed(2)
    model = WorldModel()
    optimizer = torch.optim.Adam(model.parameters())
    canvas = torch.zeros(80, 80)
    generations = driver.generations(90)
    for generation in pp.generations(range(generations)):
        with pp.profile_phase("imagine"):
            batch = torch.randn(6, 80, 24).cumsum(1) / 10
            driver.work(60)
        with pp.profile_phase("train"):
            model.attention.recording = generation > generations * 0.36
            loss = (model(batch) - batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(50)
        with pp.profile_phase("paint"):
            paint(model.attention, canvas)
            driver.work(40)
    driver.finish()


main()
