"""An epoch metric stores every prediction; its reset is overridden by a subclass that forgets the parent's."""

import time

import torch

from leakbench import Case, Truth


class Metric:
    def __init__(self):
        self.scores = []
        self.targets = []

    def update(self, scores, targets):
        self.scores.append(scores)
        self.targets.append(targets)

    def reset(self):
        self.scores.clear()
        self.targets.clear()


class RankMetric(Metric):
    def __init__(self, leaky):
        super().__init__()
        self.leaky = leaky
        self.best = 0.0

    def reset(self):
        self.best = 0.0
        if not self.leaky:
            super().reset()


class Validation:
    def __init__(self, leaky):
        torch.manual_seed(2)
        self.net = torch.nn.Linear(64, 100)
        self.metric = RankMetric(leaky)

    def generation(self, pp, index):
        with pp.phase("fit"):
            batch = torch.randn(500, 64)
            time.sleep(0.1)
        with pp.phase("validate"):
            with pp.phase("predict"), torch.no_grad():
                scores = self.net(batch).softmax(-1)
                time.sleep(0.1)
            with pp.phase("measure"):
                self.metric.update(scores, torch.randint(100, (500,)))
                self.metric.best = max(self.metric.best, float(scores.max()))
                time.sleep(0.05)
        if index % 4 == 3:  # the metric runs over four generations
            with pp.phase("epoch_end"):
                self.metric.reset()
                time.sleep(0.05)


CASE = Case(
    name="blind_metric_reset",
    build=Validation,
    truth=Truth(
        phase="predict", kind="tensors", subject="Tensor", holder=("metric", "scores"), also=("objects", "native")
    ),
    source="synthetic",
    generations=28,
)
