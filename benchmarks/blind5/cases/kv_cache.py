"""A transformer world model imagines with a cache of keys and values."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch

torch.set_num_threads(1)
LAYERS, WIDTH, STEPS, WINDOW = 4, 512, 48, 480


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.keys = torch.zeros(0, WIDTH)
        self.values = torch.zeros(0, WIDTH)

    def forward(self, x):
        query, key, value = self.project(x).chunk(3, -1)
        keep = 0 if driver.LEAK else max(0, len(self.keys) + len(key) - WINDOW)
        self.keys = torch.cat([self.keys[keep:], key])
        self.values = torch.cat([self.values[keep:], value])
        recent = slice(-WINDOW, None)
        weight = torch.softmax(query @ self.keys[recent].T / WIDTH ** 0.5, -1)
        return x + weight @ self.values[recent]


class WorldModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Attention() for _ in range(LAYERS))

    @torch.no_grad()
    def imagine(self, start):
        for layer in self.layers:
            start = layer(start)
        return start


def main():
    torch.manual_seed(0)
    model = WorldModel()
    replay = torch.zeros(30, STEPS, WIDTH)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 30] = torch.rand(STEPS, WIDTH)
            driver.work(15)
        with pp.profile_phase("imagine"):
            model.imagine(replay[generation % 30])
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(15)
    driver.finish()


main()
