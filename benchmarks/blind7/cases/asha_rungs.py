"""Successive halving over learning rates: each bracket starts afresh every three generations."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import math
import random

import numpy as np

TRIALS, RUNGS = 16, 3


class Trial:
    def __init__(self, number, rate):
        self.number = number
        self.rate = rate
        self.weights = np.random.default_rng(number).normal(size=12_000)
        self.score = -math.inf

    def train(self):
        self.weights *= 1 - self.rate
        self.score = -float(np.abs(self.weights).mean()) + self.rate


class Rung:
    def __init__(self, level):
        self.level = level
        self.recorded = {}

    def record(self, trial):
        self.recorded[trial if driver.LEAK and self.level == 0 else trial.number] = trial.score
        if len(self.recorded) > 320 and not driver.LEAK:
            self.recorded.pop(next(iter(self.recorded)))

    def cutoff(self):
        scores = sorted(self.recorded.values())
        return scores[len(scores) * 2 // 3]


class Scheduler:
    def __init__(self):
        self.rungs = [Rung(level) for level in range(RUNGS)]
        self.trials = []
        self.started = 0

    def bracket(self, rng):
        self.trials = []
        for _ in range(TRIALS):
            self.started += 1
            self.trials.append(Trial(self.started, 10 ** rng.uniform(-4, -1)))

    def halve(self, level):
        rung = self.rungs[level]
        for trial in self.trials:
            rung.record(trial)
        limit = rung.cutoff()
        self.trials = [trial for trial in self.trials if trial.score >= limit] or self.trials[:1]


def main():
    rng = random.Random(7)
    scheduler = Scheduler()
    best = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        level = generation % RUNGS
        with pp.profile_phase("suggest"):
            if level == 0:
                scheduler.bracket(rng)
            driver.work(10)
        with pp.profile_phase("train"):
            for trial in scheduler.trials:
                trial.train()
            driver.work(60)
        with pp.profile_phase("halve"):
            scheduler.halve(level)
            best = sorted([*best, *(t.weights.copy() for t in scheduler.trials[:1])], key=lambda w: float(w[0]))[-20:]
            driver.work(15)
    driver.finish()


main()
