"""A pipeline schedule stores the output of each micro-batch until the mini-batch ends.

The healthy store is emptied there, so memory rises within the phase and falls back.
The leaky store is not.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class PipelineSchedule:
    def __init__(self):
        self.outputs = []


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Sequential(nn.Linear(32, 256), nn.GELU(), nn.Linear(256, 512))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.schedule = PipelineSchedule()

    def generation(self, pp, index):
        with pp.phase("load_batch"):
            batch = torch.randn(8, 64, 32)
        with pp.phase("update"):
            for micro_batch in batch:
                logits = self.net(micro_batch)
                self.schedule.outputs.append({"logits": logits, "loss": logits.logsumexp(dim=1).mean()})
            self.optimizer.zero_grad()
            sum(output["loss"] for output in self.schedule.outputs[-8:]).backward()
            self.optimizer.step()
            if not self.leaky:
                self.schedule.outputs.clear()
        with pp.phase("log"):
            sum(p.norm().item() for p in self.net.parameters())


CASE = Case(
    name="micro_batch_outputs",
    build=Trainer,
    truth=Truth(
        phase="update",
        kind="tensors",
        subject="Tensor",
        holder=("PipelineSchedule", "outputs"),
        also=("autograd graph", "objects", "container"),
        subject_also=("dict", "list"),
        site=("Trainer.generation",),
    ),
    source="verl-project/verl PR#7874",
)
