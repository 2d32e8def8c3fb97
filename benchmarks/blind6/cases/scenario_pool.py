"""Scenarios simulated by a pool of processes, each of which caches the maps it has made."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import multiprocessing

import numpy as np

_maps = {}


def road_map(seed):
    if seed not in _maps:
        if not driver.LEAK and len(_maps) >= 64:
            _maps.clear()
        _maps[seed] = np.random.default_rng(seed).normal(size=(96, 96))
    return _maps[seed]


def simulate(task):
    seed, speed = task
    roads = road_map(seed)
    where = np.zeros(2, int)
    total = 0.0
    for turn in range(150):
        where = (where + (speed, turn)) % 96
        total += roads[where[0], where[1]]
    return seed, total


def main():
    rng = np.random.default_rng(0)
    replay = np.zeros((20, 400, 128), np.float32)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for generation in pp.generations(range(driver.GENERATIONS)):
            with pp.profile_phase("propose"):
                seeds = rng.integers(0, 2 ** 40, 16)
                tasks = [(int(seed), int(speed)) for seed, speed in zip(seeds, rng.integers(1, 9, 16))]
                driver.work(20)
            with pp.profile_phase("simulate"):
                results = pool.map(simulate, tasks, chunksize=2)
                driver.work(30)
            with pp.profile_phase("learn"):
                replay[generation % 20] = rng.normal(size=(400, 128))
                sum(total for _, total in results)
                driver.work(50)
        driver.finish()


main()
