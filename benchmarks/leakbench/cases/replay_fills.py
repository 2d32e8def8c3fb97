"""A replay buffer fills up to its capacity and stays there; the leaky build lost its bound."""

from collections import deque

import numpy as np

from leakbench import Case, Truth


class Transition:
    def __init__(self, rng):
        self.obs = rng.random((32, 32), dtype=np.float32)
        self.reward = float(rng.random())


class ReplayBuffer:
    def __init__(self, capacity):
        self.storage = deque(maxlen=capacity)


class Trainer:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(0)
        self.replay = ReplayBuffer(None if leaky else 2000)

    def generation(self, pp, index):
        with pp.phase("collect"):
            for _ in range(200):
                self.replay.storage.append(Transition(self.rng))
        with pp.phase("train"):
            for i in self.rng.integers(0, len(self.replay.storage), 32):
                self.replay.storage[i].obs.mean()


CASE = Case(
    name="replay_fills",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="objects",
        subject="Transition",
        holder=("ReplayBuffer", "storage"),
        also=("arrays",),
        subject_also=("ndarray",),
        site=("Trainer.generation", "Transition.__init__"),
    ),
    source="healthy: MishaLaskin/curl#10; leaky: PrimeIntellect-ai/prime-rl PR#1936",
)
