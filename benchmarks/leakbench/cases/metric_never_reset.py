"""A curve metric appends all predictions to a list state and is never reset, next to a plain counter.

The healthy build resets it once it is logged.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class PrecisionCurve:
    def __init__(self):
        self.count = 0
        self.predictions = []
        self.labels = []

    def update(self, predictions, labels):
        self.count += len(labels)
        self.predictions.append(predictions)
        self.labels.append(labels)

    def compute(self):
        predictions, labels = torch.cat(self.predictions[-4:]), torch.cat(self.labels[-4:])
        return labels[predictions.argsort(descending=True)].float().cumsum(0)[-1].item()

    def reset(self):
        self.predictions.clear()
        self.labels.clear()


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Linear(16, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-2)
        self.metric = PrecisionCurve()

    def generation(self, pp, index):
        with pp.phase("train_step"):
            inputs = torch.randn(256, 16)
            self.optimizer.zero_grad()
            (self.net(inputs) - inputs[:, :1]).pow(2).mean().backward()
            self.optimizer.step()
        with pp.phase("validate"), torch.no_grad():
            for _ in range(4):
                inputs = torch.randn(16384, 16)
                self.metric.update(self.net(inputs).squeeze(1).sigmoid(), inputs[:, 0] > 0.5)
        with pp.phase("log_metrics"):
            self.metric.compute()
            if not self.leaky:
                self.metric.reset()


CASE = Case(
    name="metric_never_reset",
    build=Trainer,
    truth=Truth(
        phase="validate",
        kind="tensors",
        subject="Tensor",
        holder=("PrecisionCurve", "predictions"),
        also=("objects", "container"),
        subject_also=("list",),
        site=("Trainer.generation",),
    ),
    source="Lightning-AI/torchmetrics#3294; NRCan/geo-deep-learning#582",
)
