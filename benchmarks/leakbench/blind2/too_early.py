"""A replay memory that is asked too early raises; one build raises the same exception each time."""

import time

import numpy as np

from leakbench import Case, Truth


class NotEnough(Exception):
    pass


class Memory:
    too_early = NotEnough("fewer transitions than a batch")

    def __init__(self, leaky):
        self.leaky = leaky
        self.held = np.zeros((64, 12))
        self.used = 0

    def sample(self, size):
        window = np.repeat(self.held, 6, axis=0)  # looked at before the check
        if self.used < size:
            raise self.too_early if self.leaky else NotEnough("fewer transitions than a batch")
        self.used = 0
        return window[:size]


class WarmUp:
    def __init__(self, leaky):
        self.memory = Memory(leaky)
        self.refused = 0

    def try_to_learn(self):
        try:
            return self.memory.sample(40)
        except NotEnough:
            self.refused += 1
            return None

    def generation(self, pp, index):
        with pp.phase("act"):
            self.memory.held += 0.01
            self.memory.used += 7
            time.sleep(0.1)
        with pp.phase("learn"):
            for _ in range(5):
                self.try_to_learn()
                time.sleep(0.02)


CASE = Case(
    name="blind2_too_early",
    build=WarmUp,
    truth=Truth(
        phase="learn",
        kind="arrays",
        subject="ndarray",
        holder=("too_early",),
        also=("objects", "native"),
        subject_also=("traceback", "frame"),
    ),
    source="https://github.com/patx/pickledb/issues/70",
    generations=34,
)
