"""A replay memory is capped by its number of episodes; one build compares the cap with the wrong count."""

import time
from collections import deque

import torch

from leakbench import Case, Truth


class Replay:
    def __init__(self, cap, leaky):
        self.cap = cap
        self.leaky = leaky
        self.episodes = deque()
        self.added = 0

    def add(self, states, actions):
        self.added = self.added % self.cap + 1  # a ring's position, not its length
        self.episodes.append((states, actions))
        while (self.added if self.leaky else len(self.episodes)) > self.cap:
            self.episodes.popleft()


class OffPolicy:
    def __init__(self, leaky):
        torch.manual_seed(26)
        self.policy = torch.nn.Linear(48, 4)
        self.replay = Replay(cap=24, leaky=leaky)

    def generation(self, pp, index):
        with pp.phase("collect"):
            for _ in range(3):
                states = torch.randn(800, 48)
                with torch.no_grad():
                    self.replay.add(states, self.policy(states))
            time.sleep(0.15)
        with pp.phase("train"):
            batch = torch.cat([states[:16] for states, _ in list(self.replay.episodes)[-8:]])
            self.policy(batch).pow(2).mean().backward()
            self.policy.zero_grad()
            time.sleep(0.15)
        with pp.phase("log"):
            time.sleep(0.05)


CASE = Case(
    name="blind_replay_cap",
    build=OffPolicy,
    truth=Truth(
        phase="collect",
        kind="tensors",
        subject="Tensor",
        holder=("replay", "episodes"),
        also=("objects", "native"),
        subject_also=("tuple",),
    ),
    source="synthetic",
    generations=30,
)
