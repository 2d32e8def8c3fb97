"""Transitions are plain tuples of arrays and numbers in a mapping by step; the collector tracks none of them.

The healthy build drops the steps that are older than the window.
"""

import numpy as np

from leakbench import Case, Truth

PER_GENERATION, WINDOW = 50, 200


class EpisodeArchive:
    def __init__(self):
        self.by_step = {}


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.archive = EpisodeArchive()
        self.step = 0
        self.value = 0.0

    def generation(self, pp, index):
        with pp.phase("collect"):
            for _ in range(PER_GENERATION):
                self.archive.by_step[self.step] = (self.rng.random(512), self.rng.random(512), 0.5, self.step)
                if not self.leaky:
                    self.archive.by_step.pop(self.step - WINDOW, None)
                self.step += 1
        with pp.phase("train_step"):
            observation, *_ = self.archive.by_step[self.step - 1]
            self.value += 0.1 * (observation.mean() - self.value)


CASE = Case(
    name="frames_in_tuples",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="arrays",
        subject="ndarray",
        holder=("EpisodeArchive", "by_step"),
        also=("container", "objects"),
        subject_also=("tuple", "dict"),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
