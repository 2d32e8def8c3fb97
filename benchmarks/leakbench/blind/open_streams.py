"""Batch generators are left suspended; each holds its shuffled copy of the data in its frame."""

import time

import torch

from leakbench import Case, Truth


def batches(data, size):
    shuffled = data[torch.randperm(len(data))]
    for start in range(0, len(shuffled), size):
        yield shuffled[start : start + size]


class Streaming:
    def __init__(self, leaky):
        torch.manual_seed(7)
        self.leaky = leaky
        self.data = torch.randn(3000, 80)
        self.net = torch.nn.Linear(80, 1)
        self.streams = []

    def generation(self, pp, index):
        with pp.phase("open"):
            stream = batches(self.data, 64)  # runs nothing yet
            self.streams.append(stream)
            time.sleep(0.05)
        with pp.phase("train"):
            for _ in range(5):
                with torch.no_grad():
                    self.net(next(stream)).mean()
            time.sleep(0.2)
        with pp.phase("close"):
            if not self.leaky:
                self.streams.pop().close()
            time.sleep(0.05)


CASE = Case(
    name="blind_open_streams",
    build=Streaming,
    truth=Truth(
        phase="train",
        kind="tensors",
        subject="Tensor",
        holder=("streams",),
        also=("objects", "native"),
        subject_also=("generator",),
    ),
    source="synthetic",
    generations=24,
)
