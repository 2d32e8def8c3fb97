"""Statistics of models are in a weak table by model, but the statistics refer to the model themselves."""

import time
import weakref

import torch
from torch import nn

from leakbench import Case, Truth

STATISTICS = weakref.WeakKeyDictionary()


class ModelStatistics:
    def __init__(self, reference):
        self.reference = reference
        self.updates = 0


class Bandit:
    def __init__(self, leaky):
        torch.manual_seed(29)
        self.leaky = leaky

    def generation(self, pp, index):
        with pp.phase("create"):
            candidates = [nn.Linear(256, 128) for _ in range(4)]
            time.sleep(0.1)
        with pp.phase("evaluate"):
            x = torch.randn(32, 256)
            for model in candidates:
                STATISTICS[model] = ModelStatistics(model if self.leaky else weakref.ref(model))
                STATISTICS[model].updates += 1
                with torch.no_grad():
                    model(x).mean()
            time.sleep(0.15)
        with pp.phase("discard"):
            del candidates, model
            time.sleep(0.1)


CASE = Case(
    name="blind_weak_statistics",
    build=Bandit,
    truth=Truth(
        phase="create",
        kind="tensors",
        subject="Parameter",
        holder=("STATISTICS",),
        also=("objects", "native"),
        subject_also=("Tensor", "Linear", "ModelStatistics"),
    ),
    source="synthetic",
    generations=24,
)
