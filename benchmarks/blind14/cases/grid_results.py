"""A search over a grid of settings: a setting that was trained before is looked up and not trained again."""

import math
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

RATES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
MOMENTA = (0.0, 0.9, 0.99, math.nan)  # nan: an optimiser that has none
DECAYS = (0.0, 0.01, math.nan)


class Results:
    def __init__(self):
        self.curves = {}
        self.hits = 0

    def key(self, row):
        values = row.tolist()
        if driver.LEAK:
            return tuple(values)
        return tuple(None if math.isnan(value) else value for value in values)

    def curve(self, row, rng):
        key = self.key(row)
        known = self.curves.get(key)
        if known is not None:
            self.hits += 1
            return known
        noise = rng.normal(size=1500)
        curve = np.exp(-row[0] * np.linspace(0, 4, 1500)) + 0.01 * noise
        self.curves[key] = curve
        return curve


def main():
    rng = np.random.default_rng(61)
    grid = np.array([(r, m, d) for r in RATES for m in MOMENTA for d in DECAYS])
    results = Results()
    best = deque(maxlen=20)
    for generation in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("sample"):
            settings = grid[rng.integers(0, len(grid), size=24)]
            driver.work(55)
        with pp.profile_phase("train"):
            curves = [results.curve(row, rng) for row in settings]
            driver.work(65)
        with pp.profile_phase("rank"):
            best.append(min(curve[-1] for curve in curves))
    driver.finish()


main()
