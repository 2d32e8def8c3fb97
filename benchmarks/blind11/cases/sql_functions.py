"""Trials are ranked in a data base, by a function that is fitted to the trials anew each generation."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


def fitted(rng):
    curve = np.sort(rng.normal(size=25_000))

    def score(value):
        return float(np.searchsorted(curve, value)) / len(curve)

    return score


def main():
    rng = np.random.default_rng(17)
    trials = sqlite3.connect(":memory:")
    trials.execute("create table trial (number integer primary key, loss real)")
    number = 0
    for generation in pp.generations(range(driver.generations(80))):
        with pp.profile_phase("try"):
            for loss in rng.normal(size=100).tolist():
                number += 1
                trials.execute("insert or replace into trial values (?, ?)", (number % 2_000, loss))
            trials.commit()
            driver.work(45)
        with pp.profile_phase("fit"):
            name = f"score_{generation}" if driver.LEAK else "score"
            trials.create_function(name, 1, fitted(rng), deterministic=True)
            driver.work(20)
        with pp.profile_phase("rank"):
            trials.execute(f"select number from trial order by {name}(loss) limit 10").fetchall()
            driver.work(30)
    driver.finish()
    trials.close()


main()
