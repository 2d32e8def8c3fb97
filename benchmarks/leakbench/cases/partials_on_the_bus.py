"""Each run registers a partial of its own method on an event bus, and nobody takes it off again.

The partial holds the bound method, which holds the run.  The healthy build unregisters at the end of a run.
"""

from functools import partial

import numpy as np

from leakbench import Case, Truth


class EventBus:
    def __init__(self):
        self.callbacks = []

    def publish(self, step):
        for callback in self.callbacks:
            callback(step)


class Run:
    def __init__(self, rng):
        self.curve = rng.random(40_000)
        self.seen = 0

    def report(self, prefix, step):
        self.seen += bool(prefix)


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.bus = EventBus()

    def generation(self, pp, index):
        with pp.phase("launch_runs"):
            for _ in range(4):
                run = Run(self.rng)
                self.bus.callbacks.append(partial(run.report, "train"))
        with pp.phase("train_step"):
            self.bus.publish(index)
            if not self.leaky:
                self.bus.callbacks.clear()


CASE = Case(
    name="partials_on_the_bus",
    build=Trainer,
    truth=Truth(
        phase="launch_runs",
        kind="objects",
        subject="Run",
        holder=("EventBus", "callbacks"),
        also=("arrays", "container"),
        subject_also=("partial", "method", "ndarray", "list"),
        site=("Trainer.generation", "Run.__init__"),
    ),
    source="synthetic",
)
