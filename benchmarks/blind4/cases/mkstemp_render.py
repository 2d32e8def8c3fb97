"""Renders a few frames of each generation for the report, by way of temporary files."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os
import tempfile
from collections import deque

import numpy as np


def write_frame(pixels):
    handle, path = tempfile.mkstemp(suffix=".ppm", dir=".")
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]))
        file.write(pixels.tobytes())
    if not driver.LEAK:
        os.close(handle)
    return path


class Renderer:
    def __init__(self, keep=6):
        self.rng = np.random.default_rng(9)
        self.frames = deque()
        self.keep = keep

    @pp.profile_phase("render")
    def render(self):
        for _ in range(2):
            self.frames.append(write_frame(self.rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)))
        while len(self.frames) > self.keep:
            os.unlink(self.frames.popleft())
        driver.work(30)


@pp.profile_phase("rollout")
def rollout():
    driver.work(40)


@pp.profile_phase("train")
def train():
    driver.work(30)


def main():
    renderer = Renderer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        rollout()
        train()
        renderer.render()
    driver.finish()


main()
