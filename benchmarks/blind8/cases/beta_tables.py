"""A diffusion policy: the tables of its noise schedule are computed by a cached method for each scale drawn."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import functools

import driver
import numpy as np

import phaseprof as pp

STEPS, WIDTH = 500, 128


class NoiseSchedule:
    def __init__(self):
        self.steps = np.arange(STEPS)[:, None]
        self.phases = np.linspace(0, 1, WIDTH)

    @functools.lru_cache(maxsize=None if driver.LEAK else 8)  # noqa: B019
    def table(self, scale):
        return np.exp(-scale * self.steps / STEPS) * np.cos(self.phases * scale)


def main():
    rng = np.random.default_rng(0)
    schedule = NoiseSchedule()
    demonstrations = np.zeros((24, 1_000, WIDTH))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("demonstrate"):
            demonstrations[generation % 24] = rng.random((1_000, WIDTH))
            driver.work(25)
        with pp.profile_phase("diffuse"):
            for _ in range(2):
                table = schedule.table(float(rng.uniform(1e-4, 2e-2)))
                noised = demonstrations[generation % 24, :STEPS] * table
            driver.work(30)
        with pp.profile_phase("denoise"):
            noised -= noised.mean()
            driver.work(20)
    driver.finish()


main()
