"""A report of the metrics of each generation, which remembers the columns that each of its rows had."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

NAMES = ("return", "length", "entropy", "value", "lambda", "ratio", "clip", "gradient", "kl", "gain", "bonus", "cost")


class Report:
    def __init__(self):
        self.columns = []
        self.rows = deque(maxlen=20)

    def add(self, metrics):
        columns = metrics.keys()
        self.columns.append(columns if driver.LEAK else tuple(columns))
        self.rows.append([float(values.mean()) for values in metrics.values()])

    def missing(self):
        """How many of the last ten rows lack a column that the newest has."""
        newest = set(self.columns[-1])
        return sum(not newest <= set(columns) for columns in self.columns[-10:])


def main():
    rng = np.random.default_rng(73)
    report = Report()
    advantages = deque(maxlen=22)
    missing = 0
    for generation in pp.generations(range(driver.generations(66))):
        with pp.profile_phase("rollout"):
            advantages.append(rng.random((200, 30)))
            driver.work(60)
        with pp.profile_phase("measure"):
            metrics = {name: rng.random(2000) for name in NAMES if name != "cost" or generation % 4}
            driver.work(60)
        with pp.profile_phase("report"):
            report.add(metrics)
            missing += report.missing()
    driver.finish()


main()
