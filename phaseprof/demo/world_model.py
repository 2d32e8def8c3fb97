"""A recurrent world model that watches a few markets side by side."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
from torch import Tensor, nn

from phaseprof.demo.environment import WINDOW

N_MARKETS, STATE = 64, 128


class WorldModel(nn.Module):
    """Keeps a recurrent state a market from one collection to the next, since markets do not end with a generation."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(WINDOW, STATE)
        self.cell = nn.GRUCell(STATE, STATE)
        self.head = nn.Linear(STATE, 1)
        self.state = torch.zeros(N_MARKETS, STATE)

    def observe(self, windows: Tensor) -> Tensor:
        """Advance the state of every market by one tick and predict its next return; windows: (N_MARKETS, WINDOW)."""
        self.state = self.cell(torch.tanh(self.encoder(windows)), self.state)
        prediction: Tensor = self.head(self.state)
        return prediction

    def collect_experience(self, rng: np.random.Generator, steps: int, *, keep_graph: bool) -> float:
        """Watch the markets for ``steps`` ticks and return the mean squared error of the predictions.

        With ``keep_graph`` the missing ``no_grad`` of many a collection loop: nobody will go backward through the
        collected steps, but the state that is carried on keeps the graph of each of them.
        """
        error = 0.0
        with contextlib.nullcontext() if keep_graph else torch.no_grad():
            for _ in range(steps):
                windows = torch.from_numpy(rng.standard_normal((N_MARKETS, WINDOW), dtype=np.float32))
                error += self.observe(windows).pow(2).mean().item()
        return error / steps
