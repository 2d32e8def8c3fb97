"""Episodes under way, by number; those that end by a time limit are not taken out."""

import itertools
import random
import time
from collections import namedtuple

from leakbench import Case, Truth

Step = namedtuple("Step", "state action reward")


class Sampler:
    def __init__(self, forget_truncated):
        self.forget_truncated = forget_truncated
        self.numbers = itertools.count(1)
        self.running = {}
        self.random = random.Random(13)

    def episode(self, length, limit):
        number = next(self.numbers)
        steps = self.running[number] = []
        for t in range(min(length, limit)):
            position = self.random.random()
            steps.append(Step((position, position * t, float(t)), t % 4, position - 0.5))
        finished = length <= limit
        total = sum(step.reward for step in steps)
        if finished or self.forget_truncated:
            del self.running[number]
        return total


class PolicyGradient:
    def __init__(self, leaky):
        self.sampler = Sampler(forget_truncated=not leaky)
        self.returns = [0.0] * 6

    def generation(self, pp, index):
        with pp.phase("sample"):
            for i, length in enumerate((60, 90, 400, 110, 30, 500)):
                self.returns[i] = self.sampler.episode(length, limit=120)
            time.sleep(0.1)
        with pp.phase("improve"):
            time.sleep(0.1)


CASE = Case(
    name="blind2_running_episodes",
    build=PolicyGradient,
    truth=Truth(
        phase="sample",
        kind="objects",
        subject="Step",
        holder=("running",),
        also=("container", "native"),
        subject_also=("list", "tuple", "float"),
    ),
    source="https://github.com/Unity-Technologies/ml-agents/pull/3383",
    generations=38,
    tags=("slow",),
)
