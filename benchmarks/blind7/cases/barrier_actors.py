"""Actors meet at a barrier after their rollouts; now and then one does not come."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random
import threading

import numpy as np

ACTORS = 4


def act(barrier, seed, crashes, results):
    rng = np.random.default_rng(seed)
    trajectory = rng.normal(size=(128, 180))
    try:
        if crashes:
            raise RuntimeError("the simulator has gone")
        results[seed] = float(trajectory.sum())
        barrier.wait()
    except threading.BrokenBarrierError:
        results[seed] = 0.0
    except RuntimeError:
        if not driver.LEAK:
            barrier.abort()


def collect(generation, rng):
    barrier = threading.Barrier(ACTORS)
    results = {}
    unlucky = rng.randrange(ACTORS) if rng.random() < 0.6 else None
    threads = [
        threading.Thread(target=act, args=(barrier, generation * ACTORS + i, i == unlucky, results), name=f"actor-{i}", daemon=True)
        for i in range(ACTORS)
    ]
    for thread in threads:
        thread.start()
    driver.work(30)
    for thread in threads:
        thread.join(timeout=0.005)
    return results


def main():
    rng = random.Random(1)
    returns = {}
    windows = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            returns.update(collect(generation, rng))
            for key in sorted(returns)[:-80]:
                del returns[key]
        with pp.profile_phase("learn"):
            windows.append(np.random.default_rng(generation).normal(size=(60, 700)))
            del windows[:-18]
            driver.work(45)
    driver.finish()


main()
