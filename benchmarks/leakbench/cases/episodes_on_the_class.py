"""A list that was meant for each instance sits on the class, so every episode of the run stays on it.

The healthy build makes the list in __init__.
"""

import numpy as np

from leakbench import Case, Truth


class SharedLog:
    finished = []


class OwnLog:
    def __init__(self):
        self.finished = []


class Episode:
    def __init__(self, rng):
        self.rewards = rng.random(20_000)


class Trainer:
    def __init__(self, leaky):
        self.log_class = SharedLog if leaky else OwnLog
        self.rng = np.random.default_rng(0)
        self.best = 0.0

    def generation(self, pp, index):
        with pp.phase("collect"):
            log = self.log_class()
            for _ in range(6):
                log.finished.append(Episode(self.rng))
        with pp.phase("train_step"):
            self.best = max(self.best, *(episode.rewards.sum() for episode in log.finished[-6:]))


CASE = Case(
    name="episodes_on_the_class",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="objects",
        subject="Episode",
        holder=("SharedLog", "finished"),
        also=("arrays", "container"),
        subject_also=("ndarray", "list"),
        site=("Trainer.generation", "Episode.__init__"),
    ),
    source="synthetic",
)
