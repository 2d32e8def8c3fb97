"""Frames are handed to a renderer in C as descriptors with a pointer to their pixels."""

import collections
import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

PIXELS = 100 * 150
PER_GENERATION = 6
SLOTS = 4096 if driver.LEAK else PER_GENERATION * 18


class Frame(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int), ("pixels", ctypes.POINTER(ctypes.c_float))]


class FrameRing:
    def __init__(self):
        self.frames = (Frame * SLOTS)()
        self.count = 0

    def submit(self, image):
        pixels = (ctypes.c_float * PIXELS)()
        np.frombuffer(pixels, np.float32)[:] = image.ravel()
        frame = self.frames[self.count % SLOTS]
        frame.width, frame.height, frame.pixels = 150, 100, pixels
        self.count += 1
        return frame.pixels[0]


def main():
    rng = np.random.default_rng(9)
    ring = FrameRing()
    replay = collections.deque(maxlen=20)
    bright = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("step"):
            images = rng.random((PER_GENERATION, 100, 150), dtype=np.float32)
            replay.append(images[:, ::4, ::5].copy())
            driver.work(35)
        with pp.profile_phase("render"):
            bright += sum(ring.submit(image) for image in images)
            driver.work(30)
        with pp.profile_phase("update"):
            bright *= 0.9
            driver.work(25)
    driver.finish()


main()
