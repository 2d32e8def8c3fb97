"""A bounded replay and an unbounded history hold the same rollouts; only the history is to blame.

The healthy history keeps the returns of the last hundred rollouts; the replay is full after 8 generations.
"""

from collections import deque

import numpy as np

from leakbench import Case, Truth


class Rollout:
    def __init__(self, rng):
        self.observations = rng.random((256, 64), dtype=np.float32)
        self.rewards = rng.random(256, dtype=np.float32)


class RolloutStore:
    def __init__(self, leaky):
        self.leaky = leaky
        self.replay = deque(maxlen=64)
        self.history = [] if leaky else deque(maxlen=100)

    def add(self, rollout):
        self.replay.append(rollout)
        self.history.append(rollout if self.leaky else float(rollout.rewards.sum()))


class Trainer:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(0)
        self.store = RolloutStore(leaky)
        self.weights = np.zeros(64, dtype=np.float32)

    def generation(self, pp, index):
        with pp.phase("collect"):
            for _ in range(8):
                self.store.add(Rollout(self.rng))
        with pp.phase("train_step"):
            for pick in self.rng.integers(0, len(self.store.replay), 16):
                rollout = self.store.replay[pick]
                self.weights += 1e-3 * rollout.rewards @ rollout.observations
        with pp.phase("log"):
            len(self.store.history)


CASE = Case(
    name="history_beside_replay",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="objects",
        subject="Rollout",
        holder=("RolloutStore", "history"),
        also=("arrays", "container"),
        subject_also=("ndarray",),
        site=("Trainer.generation", "Rollout.__init__"),
    ),
    source="PrimeIntellect-ai/prime-rl PR#1936; openai/baselines PR#95",
)
