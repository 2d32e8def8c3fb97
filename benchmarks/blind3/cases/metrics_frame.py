"""Step metrics are concatenated to one data frame that is never cut."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import numpy as np
import pandas as pd

import phaseprof as pp


class Metrics:
    def __init__(self):
        self.columns = [f"metric_{k}" for k in range(40)]
        self.history = pd.DataFrame(columns=self.columns, dtype=float)

    def append(self, rows):
        self.history = pd.concat([self.history, pd.DataFrame(rows, columns=self.columns)], ignore_index=True)
        if not driver.LEAK:
            self.history = self.history.tail(6_000).copy()


def main():
    rng = np.random.default_rng(0)
    metrics = Metrics()
    smooth = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            rows = rng.random((500, 40))
            driver.work(35)
        with pp.profile_phase("train"):
            driver.work(50)
        with pp.profile_phase("log"):
            metrics.append(rows)
            smooth = float(metrics.history["metric_3"].tail(100).mean())
        with pp.profile_phase("evaluate"):
            driver.work(15)
    driver.finish()
    return smooth


main()
