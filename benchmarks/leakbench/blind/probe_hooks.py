"""A probe registers a forward hook whose closure keeps the reference batch; the handle is not removed."""

import time

import torch
from torch import nn

from leakbench import Case, Truth


def compare_with(reference, drift):
    def hook(module, inputs, output):
        drift["last"] = float((output[:8].mean() - reference.mean()).abs())

    return hook


class Probing:
    def __init__(self, leaky):
        torch.manual_seed(3)
        self.leaky = leaky
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), 1e-3)
        self.drift = {}

    def generation(self, pp, index):
        with pp.phase("train"):
            loss = self.encoder(torch.randn(64, 64)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.1)
        with pp.phase("probe"):
            reference = torch.randn(2500, 64)
            handle = self.encoder[2].register_forward_hook(compare_with(reference, self.drift))
            with torch.no_grad():
                self.encoder(reference[:16])
            if not self.leaky:
                handle.remove()
            time.sleep(0.15)
        with pp.phase("report"):
            str(self.drift)
            time.sleep(0.08)


CASE = Case(
    name="blind_probe_hooks",
    build=Probing,
    truth=Truth(
        phase="probe",
        kind="tensors",
        subject="Tensor",
        holder=("_forward_hooks",),
        also=("objects", "native"),
        subject_also=("function", "cell"),
    ),
    source="synthetic",
    generations=24,
)
