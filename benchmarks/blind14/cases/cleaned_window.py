"""The newest transitions are kept for a model of the world; those it can do nothing with are taken out now and then."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

NEWEST = 360


class Transition:
    def __init__(self, before, after, reward):
        self.before = before
        self.after = after
        self.reward = reward


class Window:
    def __init__(self):
        self.transitions = deque(maxlen=NEWEST)

    def add(self, transition):
        self.transitions.append(transition)

    def clean(self, largest):
        kept = (one for one in self.transitions if abs(one.reward) < largest)
        self.transitions = deque(kept) if driver.LEAK else deque(kept, maxlen=NEWEST)

    def newest(self, number):
        return [self.transitions[-i] for i in range(1, min(number, len(self.transitions)) + 1)]


def main():
    rng = np.random.default_rng(101)
    window = Window()
    errors = deque(maxlen=40)
    model = np.eye(400)
    for generation in pp.generations(range(driver.generations(72))):
        with pp.profile_phase("collect"):
            for _ in range(26):
                window.add(Transition(rng.random(400), rng.random(400), rng.normal()))
            driver.work(55)
        with pp.profile_phase("clean"):
            if generation % 3 == 2:
                window.clean(largest=2.0)
        with pp.profile_phase("learn"):
            for one in window.newest(20):
                error = one.after - model @ one.before
                model += 1e-5 * np.outer(error, one.before)
            errors.append(float(np.square(error).mean()))
            driver.work(55)
    driver.finish()


main()
