"""A market to trade on and the buffer that remembers it; both numpy only."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WINDOW = 64
N_PRICES = 1 << 16  # 512 KiB of float64 in each environment, so a handful too many is worth a report

Array = NDArray[np.float32]


class Transition(NamedTuple):
    """One step as the replay buffer keeps it; observations have shape (WINDOW,)."""

    observation: Array
    action: Array
    reward: float
    next_observation: Array


class TradingEnvironment:
    """One market: the observation is a window of returns, the action a position from -1 to 1."""

    def __init__(self, seed: int, *, episode_length: int = 80) -> None:
        self.rng = np.random.default_rng(seed)
        self.episode_length = episode_length
        self.returns = self.rng.standard_normal(N_PRICES) / 100
        self.start = self.cursor = 0

    def reset(self) -> Array:
        """Begin an episode at a random time and return its first observation."""
        self.start = self.cursor = int(self.rng.integers(0, N_PRICES - WINDOW - self.episode_length))
        return self.observe()

    def observe(self) -> Array:
        """Return the last WINDOW returns, scaled to about one."""
        return (self.returns[self.cursor : self.cursor + WINDOW] * 100).astype(np.float32)

    def step(self, position: float) -> tuple[Array, float, bool]:
        """Hold ``position`` for one tick; return the next observation, the reward, and whether the episode is over."""
        reward = float(position * self.returns[self.cursor + WINDOW])
        self.cursor += 1
        return self.observe(), reward, self.cursor - self.start >= self.episode_length


class ReplayBuffer:
    """The newest ``capacity`` transitions; it fills over a few generations and then stays as it is."""

    def __init__(self, capacity: int, seed: int = 0) -> None:
        self.capacity = capacity
        self.storage: deque[Transition] = deque(maxlen=capacity)
        self.rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.storage)

    def add(self, transition: Transition) -> None:
        """Remember one transition; the oldest is dropped when the buffer is full."""
        self.storage.append(transition)

    def sample(self, size: int) -> tuple[Array, Array, Array, Array]:
        """Return ``size`` random transitions as arrays: observations, actions, rewards (size, 1), next observations."""
        picks = [self.storage[i] for i in self.rng.integers(0, len(self.storage), size)]
        rewards = np.array([[one.reward] for one in picks], dtype=np.float32)
        observations = np.stack([one.observation for one in picks])
        actions = np.stack([one.action for one in picks])
        return observations, actions, rewards, np.stack([one.next_observation for one in picks])
