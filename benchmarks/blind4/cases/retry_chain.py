"""A flaky simulator: what failed is tried again, and the last failure is named in the next one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np


class SimulatorError(RuntimeError):
    pass


class Simulator:
    def __init__(self):
        self.rng = np.random.default_rng(8)
        self.steps = 0

    def step(self, last_error):
        self.steps += 1
        observation = self.rng.normal(size=(60, 140))
        if self.steps % 4 == 0:
            if driver.LEAK:
                raise SimulatorError(f"diverged in step {self.steps}: {observation[0, 0]:.3f}") from last_error
            raise SimulatorError(f"diverged in step {self.steps}: {observation[0, 0]:.3f}; before: {last_error}")
        return observation


class Collector:
    def __init__(self):
        self.simulator = Simulator()
        self.last_error = None
        self.failures = 0

    def collect(self, steps=24):
        kept = 0
        while kept < steps:
            try:
                self.simulator.step(self.last_error)
                kept += 1
            except SimulatorError as error:
                self.failures += 1
                self.last_error = error if driver.LEAK else str(error)[:60]
        driver.work(45)
        return kept


def main():
    collector = Collector()
    value = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            collector.collect()
        with pp.profile_phase("update_policy"):
            value = 0.9 * value + 0.1 * collector.failures
            driver.work(40)
        with pp.profile_phase("report"):
            driver.work(15)
    driver.finish()


main()
