"""Each evaluation pipes its frames to an encoder process and never closes its input, so the encoder waits on.

The healthy build ends the encoder with communicate().
"""

import subprocess

import numpy as np

from leakbench import Case, Truth


class VideoWriter:
    def __init__(self):
        self.encoders = []

    def record(self, frames):
        encoder = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.encoders.append(encoder)
        encoder.stdin.write(frames.tobytes())
        encoder.stdin.flush()

    def finish(self):
        while self.encoders:
            self.encoders.pop().communicate()


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.writer = VideoWriter()
        self.value = 0.0

    def generation(self, pp, index):
        with pp.phase("train_step"):
            frames = self.rng.integers(0, 255, (4, 64, 64), dtype=np.uint8)
            self.value += 0.1 * (frames.mean() - self.value)
        with pp.phase("record_video"):
            self.writer.record(frames)
            if not self.leaky:
                self.writer.finish()


CASE = Case(
    name="encoders_not_reaped",
    build=Trainer,
    truth=Truth(
        phase="record_video",
        kind="children",
        subject="Popen",
        holder=("VideoWriter", "encoders"),
        also=("descriptors", "objects", "container"),
        subject_also=("BufferedWriter", "FileIO", "list"),
        site=("VideoWriter.record",),
    ),
    source="synthetic",
    generations=20,
    tags=("count",),
)
