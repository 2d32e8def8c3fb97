"""Every step formats a few lines for a report at the end of the run, and they all wait in a list.

Strings are not tracked by the collector.  The healthy build keeps the last thousand.
"""

import random
from collections import deque

from leakbench import Case, Truth


class RunLog:
    def __init__(self, keep):
        self.lines = deque(maxlen=keep)


class Trainer:
    def __init__(self, leaky):
        self.random = random.Random(0)
        self.log = RunLog(None if leaky else 1000)
        self.weight = 0.0

    def generation(self, pp, index):
        with pp.phase("train_step"):
            gradients = [self.random.gauss(0, 1) for _ in range(1500)]
            self.weight -= 1e-3 * sum(gradients)
        with pp.phase("log"):
            for step, gradient in enumerate(gradients):
                values = " ".join(f"{gradient * k:+.6f}" for k in range(12))
                self.log.lines.append(f"generation {index} step {step} gradient {values}")


CASE = Case(
    name="log_lines",
    build=Trainer,
    truth=Truth(
        phase="log",
        kind="container",
        subject="deque",
        holder=("RunLog", "lines"),
        also=("objects",),
        subject_also=("str",),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
