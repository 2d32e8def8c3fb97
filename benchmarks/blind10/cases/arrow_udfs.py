"""Rewards are shaped by a function in the engine of Arrow, from a table that is fitted in every generation."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import phaseprof as pp

GENERATIONS = driver.generations(150)
BINS = 25_000


class Shaper:
    def __init__(self):
        self.name = None
        self.table = None

    def fit(self, rewards, generation):
        self.table = np.interp(np.linspace(-4, 4, BINS), np.sort(rewards), np.linspace(0, 1, len(rewards)))
        if self.name is None or driver.LEAK:
            self.name = f"shape_{generation}"
            self.register(self.table)

    def register(self, table):
        def shape(context, rewards):
            now = table if driver.LEAK else self.table
            places = np.clip((rewards.to_numpy() + 4) / 8 * BINS, 0, BINS - 1).astype(int)
            return pa.array(now[places])

        pc.register_scalar_function(shape, self.name, {"summary": "shape", "description": "Rewards by rank"},
                                    {"rewards": pa.float64()}, pa.float64())

    def __call__(self, rewards):
        return pc.call_function(self.name, [pa.array(rewards)]).to_numpy()


def main():
    rng = np.random.default_rng(15)
    shaper = Shaper()
    window = collections.deque(maxlen=50)
    value = 0.0
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("collect"):
            rewards = rng.normal(size=5000)
            window.append(rewards)
            driver.work(45)
        with pp.profile_phase("shape"):
            shaper.fit(rewards, generation)
            shaped = shaper(rewards)
            driver.work(35)
        with pp.profile_phase("learn"):
            value += 0.1 * (float(shaped.mean()) - value)
            driver.work(40)
    driver.finish()


main()
