"""A buffer is bounded by the number of episodes, and the episodes get longer as the agent improves.

The healthy build cuts episodes to one length; its buffer is full after 5 generations.
"""

from collections import deque

import numpy as np

from leakbench import Case, Truth


class EpisodeBuffer:
    def __init__(self, capacity):
        self.episodes = deque(maxlen=capacity)


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.buffer = EpisodeBuffer(200)
        self.skill = 0

    def play(self):
        length = 100 + 20 * self.skill if self.leaky else 100
        return self.rng.random((length, 32), dtype=np.float32)

    def generation(self, pp, index):
        with pp.phase("collect"):
            for _ in range(40):
                self.buffer.episodes.append(self.play())
        with pp.phase("train_step"):
            for pick in self.rng.integers(0, len(self.buffer.episodes), 32):
                self.buffer.episodes[pick].mean(axis=0)
            self.skill += 1
        with pp.phase("log"):
            len(self.buffer.episodes)


CASE = Case(
    name="growing_episodes",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="arrays",
        subject="ndarray",
        holder=("EpisodeBuffer", "episodes"),
        also=("container",),
        subject_also=("deque",),
        site=("Trainer.play",),
    ),
    source="DeNA/HandyRL#189",
    generations=36,
)
