"""Results of the trials go into a dictionary that a manager process holds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import multiprocessing

import numpy as np

KEPT = 12


def run_trial(rng):
    return {"score": float(rng.random()), "weights": rng.standard_normal(75_000).tobytes()}


def main():
    manager = multiprocessing.get_context("spawn").Manager()
    results = manager.dict()
    rng = np.random.default_rng(0)
    best = (-1.0, None)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("run_trial"):
            result = run_trial(rng)
            driver.work(50)
        with pp.profile_phase("store"):
            results[generation] = result
            best = max(best, (result["score"], generation))
            if not driver.LEAK and generation >= KEPT:
                results.pop(generation - KEPT)
            del result
            driver.work(30)
    driver.finish()
    manager.shutdown()


if __name__ == "__main__":
    main()
