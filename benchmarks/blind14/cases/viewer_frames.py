"""Frames of a dreamed world are handed to a viewer as DLPack; it shows every fourth and skips the others."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp


class Viewer:
    def __init__(self):
        self.pending = {}
        self.brightness = deque(maxlen=60)

    def hand_over(self, number, frame):
        self.pending[number] = frame.__dlpack__()

    def show(self):
        for number in [number for number in self.pending if number % 4 == 0]:
            frame = torch.utils.dlpack.from_dlpack(self.pending.pop(number))
            self.brightness.append(float(frame.mean()))
        if not driver.LEAK:
            self.pending.clear()


def main():
    torch.manual_seed(181)
    viewer = Viewer()
    world = torch.nn.Linear(72, 72)
    optimiser = torch.optim.Adam(world.parameters())
    replay = deque(maxlen=22)
    frames = 0
    for generation in pp.generations(range(driver.generations(66))):
        with pp.profile_phase("dream"):
            with torch.no_grad():
                frame = torch.rand(96, 72)
                for _ in range(8):
                    frame = torch.tanh(world(frame))
                    viewer.hand_over(frames, frame)
                    frames += 1
            driver.work(55)
        with pp.profile_phase("show"):
            viewer.show()
            driver.work(10)
        with pp.profile_phase("learn"):
            replay.append(torch.rand(96, 72))
            loss = (world(replay[-1]) - replay[0]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            driver.work(55)
    driver.finish()


main()
