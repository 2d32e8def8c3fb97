"""Episode streams are generators that are read for a few steps and kept; each suspended frame holds its episode.

The healthy build closes a stream when it has what it needs.
"""

import numpy as np

from leakbench import Case, Truth


def stream(rng):
    episode = rng.random((256, 128))
    for row in episode:
        yield row.mean()


class Sampler:
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.streams = []

    def sample(self, close):
        opened = [stream(self.rng) for _ in range(4)]
        means = [sum(next(one) for _ in range(8)) for one in opened]
        self.streams += opened
        if close:
            for one in self.streams:
                one.close()
            self.streams.clear()
        return means


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.sampler = Sampler()
        self.value = 0.0

    def generation(self, pp, index):
        with pp.phase("sample"):
            means = self.sampler.sample(close=not self.leaky)
        with pp.phase("train_step"):
            for mean in means:
                self.value += 0.1 * (mean - self.value)


CASE = Case(
    name="streams_not_finished",
    build=Trainer,
    truth=Truth(
        phase="sample",
        kind="objects",
        subject="generator",
        holder=("Sampler", "streams"),
        also=("arrays", "container"),
        subject_also=("ndarray", "list"),
        site=("Sampler.sample", "stream"),
    ),
    source="synthetic",
)
