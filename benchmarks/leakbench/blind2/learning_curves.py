"""Learning curves, a point for each step; one build thins them when they get long."""

import time
from dataclasses import dataclass, field

import torch

from leakbench import Case, Truth


@dataclass
class Report:
    longest: int | None
    curves: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name, value):
        curve = self.curves.setdefault(name, [])
        curve.append(value)
        if self.longest and len(curve) >= self.longest:
            del curve[::2]


@dataclass
class Trainer:
    model: torch.nn.Module
    report: Report
    steps: int = 0


class Supervised:
    def __init__(self, leaky):
        torch.manual_seed(12)
        self.trainer = Trainer(torch.nn.Linear(8, 1), Report(longest=None if leaky else 4000))

    def generation(self, pp, index):
        trainer = self.trainer
        with pp.phase("train"):
            inputs = torch.randn(500, 8)
            with torch.no_grad():
                outputs = trainer.model(inputs)
            losses = (outputs - inputs.sum(1, keepdim=True)).pow(2).flatten().tolist()
            for loss in losses:
                trainer.report.add("loss", loss)
                trainer.report.add("rate", 1.0 / (1.0 + trainer.steps))
                trainer.report.add("scaled", 0.5 * loss)
                trainer.steps += 1
            time.sleep(0.12)
        with pp.phase("validate"):
            with torch.no_grad():
                trainer.model(inputs[:20])
            time.sleep(0.08)


CASE = Case(
    name="blind2_learning_curves",
    build=Supervised,
    truth=Truth(
        phase="train",
        kind="container",
        subject="list",
        holder=("report", "curves"),
        also=("native", "objects"),
        subject_also=("float",),
    ),
    source="synthetic",
    generations=40,
    tags=("slow",),
)
