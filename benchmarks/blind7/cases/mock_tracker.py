"""A dry run: the client of the tracker is replaced by a mock, so that nothing is sent."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

from unittest import mock

import numpy as np


class Metrics:
    def __init__(self, tracker):
        self.tracker = tracker
        self.window = []

    def publish(self, step, returns, weights):
        self.tracker.log({"return": float(returns.mean()), "returns": returns}, step=step)
        self.tracker.histogram("weights", weights.copy(), step=step)

    def flush(self, generation):
        if not driver.LEAK and generation % 8 == 7:
            self.tracker.reset_mock()


def main():
    rng = np.random.default_rng(12)
    metrics = Metrics(mock.MagicMock(name="tracker"))
    weights = rng.normal(size=(90, 100))
    openings = {}
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            returns = [rng.normal(size=500) for _ in range(4)]
            openings[generation * 7 % 23] = rng.random(20_000)
            driver.work(35)
        with pp.profile_phase("learn"):
            weights = weights * 0.999 + rng.normal(size=weights.shape) * 0.01
            driver.work(40)
        with pp.profile_phase("report"):
            for i, part in enumerate(returns):
                metrics.publish(generation * 4 + i, part, weights)
            metrics.flush(generation)
            driver.work(10)
    driver.finish()


main()
