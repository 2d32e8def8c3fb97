"""Hyperparameter search whose study lives in an sqlite database in memory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import sqlite3

import numpy as np

KEPT_TRIALS = 12


class Study:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table trials (id integer primary key, lr real, score real)")
        self.db.execute("create table curves (trial integer, step integer, weights blob)")
        self.rng = np.random.default_rng(3)
        self.next_id = 0

    def ask(self):
        self.next_id += 1
        return self.next_id, float(10 ** self.rng.uniform(-5, -2))

    def tell(self, trial, lr, score, snapshots):
        with self.db:
            self.db.execute("insert into trials values (?, ?, ?)", (trial, lr, score))
            self.db.executemany("insert into curves values (?, ?, ?)", ((trial, i, w.tobytes()) for i, w in enumerate(snapshots)))
            if not driver.LEAK:
                self.db.execute("delete from curves where trial <= ?", (trial - KEPT_TRIALS,))

    def best(self):
        return self.db.execute("select id, lr from trials order by score desc limit 1").fetchone()


def train(rng, lr):
    weights = rng.standard_normal(3000).astype(np.float32)
    snapshots = []
    for _ in range(60):
        weights = weights - lr * np.sign(weights)
        snapshots.append(weights)
    return float(-np.abs(weights).mean()), snapshots


def main():
    study = Study()
    rng = np.random.default_rng(5)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("ask"):
            trial, lr = study.ask()
            driver.work(10)
        with pp.profile_phase("evaluate"):
            score, snapshots = train(rng, lr)
            driver.work(60)
        with pp.profile_phase("tell"):
            study.tell(trial, lr, score, snapshots)
            del snapshots
            study.best()
            driver.work(20)
    driver.finish()


main()
