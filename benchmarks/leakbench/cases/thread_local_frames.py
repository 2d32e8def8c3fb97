"""A renderer keeps scratch frames in a thread-local of its worker thread and never clears them.

Only that thread can read them.  The healthy build overwrites one scratch frame.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from leakbench import Case, Truth


class Renderer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.scratch = threading.local()
        self.pool = ThreadPoolExecutor(1)

    def draw(self, seed):
        if not hasattr(self.scratch, "frames"):
            self.scratch.frames = []
        if not self.leaky:
            self.scratch.frames.clear()
        self.scratch.frames.append(np.random.default_rng(seed).random((128, 128)))
        return float(self.scratch.frames[-1].mean())


class Trainer:
    def __init__(self, leaky):
        self.renderer = Renderer(leaky)
        self.brightness = 0.0

    def generation(self, pp, index):
        with pp.phase("render"):
            values = [self.renderer.pool.submit(self.renderer.draw, 8 * index + i).result() for i in range(8)]
        with pp.phase("train_step"):
            for value in values:
                self.brightness += 0.1 * (value - self.brightness)


CASE = Case(
    name="thread_local_frames",
    build=Trainer,
    truth=Truth(
        phase="render",
        kind="arrays",
        subject="ndarray",
        holder=("Renderer", "scratch", "frames"),
        also=("container",),
        subject_also=("list",),
        site=("Renderer.draw",),
    ),
    source="synthetic",
)
