"""Rollouts are checked while they are evaluated, and where a check failed is remembered."""

import collections
import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Checker:
    def __init__(self):
        self.failures = []

    def expect(self, right):
        if not right:
            caller = inspect.currentframe().f_back
            self.failures.append(caller if driver.LEAK else (caller.f_code.co_name, caller.f_lineno))


def check_rollout(rollout, checker):
    deltas = np.diff(rollout, axis=0)
    jumps = np.abs(deltas).max()
    checker.expect(np.isfinite(deltas).all())
    checker.expect(jumps < 3)
    return float(jumps)


def main():
    rng = np.random.default_rng(13)
    checker = Checker()
    recent = collections.deque(maxlen=18)
    worst = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            rollout = rng.normal(size=(450, 64))
            recent.append(rollout[::3].copy())
            driver.work(30)
        with pp.profile_phase("evaluate"):
            driver.work(20)
            with pp.profile_phase("checks"):
                worst = max(worst, check_rollout(rollout, checker))
                driver.work(15)
        with pp.profile_phase("update"):
            driver.work(25)
    driver.finish()


main()
