"""Scalars of all agents, as a tracker collects them until they are sent."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random


class Tracker:
    def __init__(self):
        self.scalars = {}
        self.step = 0
        self.sent = 0

    def log(self, agent, name, value):
        self.scalars[f"{agent}/{name}/{self.step}"] = value

    def flush(self):
        if driver.LEAK:
            self.sent = len(self.scalars)
        else:
            self.sent += len(self.scalars)
            self.scalars.clear()

    def advance(self):
        self.step += 1


METRICS = ["return", "entropy", "kl", "value_loss", "grad_norm", "clip_fraction", "lr", "fps"]


def log_generation(tracker, agents=260):
    for agent in range(agents):
        for name in METRICS:
            tracker.log(f"agent-{agent:03}", name, random.random())
    tracker.flush()
    tracker.advance()


def main():
    tracker = Tracker()
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            with pp.profile_phase("rollout"):
                driver.work(30)
            with pp.profile_phase("update"):
                driver.work(40)
            with pp.profile_phase("log"):
                log_generation(tracker)
                driver.work(25)
    driver.finish()


main()
