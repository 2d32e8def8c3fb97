"""A screen recorder keeps raw frames as bytearrays until a video is written, which happens only if asked for.

The healthy build starts a new recording at each evaluation.
"""

import random

from leakbench import Case, Truth


class ScreenRecorder:
    def __init__(self):
        self.frames = []


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(0)
        self.recorder = ScreenRecorder()
        self.value = 0.0

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for _ in range(2000):
                self.value += 1e-3 * (self.random.random() - self.value)
        with pp.phase("evaluate"):
            if not self.leaky:
                self.recorder.frames.clear()
            for _ in range(10):
                self.recorder.frames.append(bytearray(self.random.randbytes(128 * 128 * 3)))


CASE = Case(
    name="recorded_frames",
    build=Trainer,
    truth=Truth(
        phase="evaluate",
        kind="container",
        subject="list",
        holder=("ScreenRecorder", "frames"),
        also=("objects",),
        subject_also=("bytearray",),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
