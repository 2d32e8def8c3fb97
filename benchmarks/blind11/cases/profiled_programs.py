"""The programs of genetic programming are evaluated under cProfile, to see which are slow."""

import collections
import cProfile
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


def source(rng):
    return "lambda x: " + " + ".join(f"{c:.5f} * x ** {k}" for k, c in enumerate(rng.normal(size=36)))


def evaluate(function, points):
    return sum(abs(function(x) - x * x) for x in points)


def main():
    rng = np.random.default_rng(28)
    profile = cProfile.Profile()
    slowest = collections.deque(maxlen=20)
    errors = collections.deque(maxlen=600)
    for _ in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("breed"):
            programs = [eval(source(rng)) for _ in range(30)]
            driver.work(35)
        with pp.profile_phase("evaluate"):
            profile.enable()
            for program in programs:
                errors.append(evaluate(program, (-0.5, 0.1, 0.7)))
            profile.disable()
            driver.work(40)
        with pp.profile_phase("report"):
            slowest.append(max(row.totaltime for row in profile.getstats()))
            if not driver.LEAK:
                profile.clear()
            driver.work(30)
    driver.finish()


main()
