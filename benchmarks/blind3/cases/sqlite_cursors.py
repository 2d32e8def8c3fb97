"""Replay is in SQLite; each sampling leaves a cursor that was not read to its end, with its sorter."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import sqlite3

import numpy as np

import phaseprof as pp


class Replay:
    CAPACITY = 1_600

    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table transitions (id integer primary key, observation blob, reward real)")
        self.rng = np.random.default_rng(0)
        self.samplers = []
        self.count = 0

    def add(self, number):
        rows = [(self.count + k, self.rng.bytes(300), float(k)) for k in range(number)]
        self.count += number
        self.db.executemany("insert into transitions values (?, ?, ?)", rows)
        self.db.execute("delete from transitions where id < ?", (self.count - self.CAPACITY,))
        self.db.commit()

    def sample(self, size):
        cursor = self.db.execute("select observation, reward from transitions order by random()")
        self.samplers.append(cursor)
        rows = cursor.fetchmany(size)
        if not driver.LEAK:
            while len(self.samplers) > 3:
                self.samplers.pop(0).close()
        return rows


def main():
    replay = Replay()
    total = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay.add(200)
            driver.work(35)
        with pp.profile_phase("sample"):
            rows = replay.sample(64)
        with pp.profile_phase("learn"):
            total += sum(reward for _, reward in rows)
            driver.work(60)
    driver.finish()


main()
