"""Statistics of scenarios in a shelf on disk, changed in place."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import dbm.dumb
import shelve
import tempfile

import numpy as np

BINS, SCENARIOS = 12_800, 8


class ScenarioStats:
    def __init__(self):
        self.visits = 0
        self.histogram = np.zeros(BINS)

    def add(self, values):
        self.visits += 1
        self.histogram += np.histogram(values, BINS, (-4, 4))[0]


class StatsStore:
    def __init__(self, path):
        self.shelf = shelve.Shelf(dbm.dumb.open(path, "n"), writeback=True)
        self.since = 0

    def record(self, scenario, values):
        if scenario not in self.shelf:
            self.shelf[scenario] = ScenarioStats()
        self.shelf[scenario].add(values)

    def after_generation(self):
        self.since += 1
        if self.since == 6 and not driver.LEAK:
            self.shelf.sync()
            self.since = 0


def main():
    rng = np.random.default_rng(16)
    with tempfile.TemporaryDirectory() as folder:
        store = StatsStore(f"{folder}/scenarios")
        replay = np.zeros((18, SCENARIOS, 2_500))
        for generation in pp.generations(range(driver.GENERATIONS)):
            with pp.profile_phase("collect"):
                values = rng.normal(size=(SCENARIOS, 2_500))
                replay[generation % 18] = values
                driver.work(35)
            with pp.profile_phase("record"):
                for i, row in enumerate(values):
                    store.record(f"town-{generation * 5 + i}", row)
                store.after_generation()
                driver.work(20)
            with pp.profile_phase("learn"):
                driver.work(50)
        driver.finish()
        store.shelf.close()


main()
