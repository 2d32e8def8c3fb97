"""A world model dreams, and of each dream the first frame is put on a wall of thumbnails."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class Wall:
    def __init__(self):
        self.thumbnails = []

    def hang(self, frames):
        first = frames.detach().numpy()[0, 0, ::4]
        self.thumbnails.append(first if driver.LEAK else first.copy())
        if not driver.LEAK:
            del self.thumbnails[:-40]


def main():
    torch.manual_seed(43)
    model = nn.Linear(96, 96)
    optimizer = torch.optim.Adam(model.parameters())
    wall = Wall()
    real = torch.zeros(24, 32, 96)
    for generation in pp.generations(range(driver.generations(66))):
        with pp.profile_phase("dream"):
            with torch.no_grad():
                state = torch.randn(32, 96)
                frames = torch.empty(16, 32, 96)
                for step in range(16):
                    state = torch.tanh(model(state))
                    frames[step] = state
            driver.work(40)
        with pp.profile_phase("show"):
            wall.hang(frames)
            driver.work(20)
        with pp.profile_phase("fit"):
            real[generation % 24] = torch.randn(32, 96)
            loss = (model(real[generation % 24]) - real[generation % 24].roll(1, 0)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(50)
    driver.finish()


main()
