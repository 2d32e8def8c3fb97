"""Novelty search compares behaviours with recent ones; a deque without a limit was meant to hold the recent ones."""

import time
from collections import deque
from types import SimpleNamespace

import torch

from leakbench import Case, Truth


class NoveltySearch:
    def __init__(self, leaky):
        torch.manual_seed(20)
        self.encoder = torch.nn.Linear(32, 128)
        self.archive = SimpleNamespace(recent=deque(maxlen=None if leaky else 24), threshold=0.1)

    def novelty(self, behaviour):
        if not self.archive.recent:
            return 1.0
        others = torch.stack(list(self.archive.recent)[-24:])
        return float((others - behaviour).norm(dim=1).min())

    def generation(self, pp, index):
        with pp.phase("encode"):
            for _ in range(3):
                episode = torch.randn(100, 32)
                codes = self.encoder(episode).detach()
                last = codes[-1]  # a view, so the codes of the whole episode stay with it
                if self.novelty(last) > self.archive.threshold:
                    self.archive.recent.append(last)
            time.sleep(0.12)
        with pp.phase("select"):
            self.archive.threshold = 0.9 * self.archive.threshold
            time.sleep(0.08)


CASE = Case(
    name="blind2_novelty_window",
    build=NoveltySearch,
    truth=Truth(
        phase="encode",
        kind="tensors",
        subject="Tensor",
        holder=("archive", "recent"),
        also=("objects", "container", "native"),
        subject_also=("deque",),
    ),
    source="https://github.com/seungeunrho/minimalRL/issues/3",
    generations=34,
)
