"""Metrics go to an in-memory SQLite table; rows of old generations are not deleted."""

import os
import sqlite3
import time

from leakbench import Case, Truth


class MetricStore:
    def __init__(self, keep):
        self.keep = keep
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("create table metric (generation integer, name text, histogram blob)")

    def write(self, index, rows):
        with self.connection:
            self.connection.executemany("insert into metric values (?, ?, ?)", rows)
            if self.keep:
                self.connection.execute("delete from metric where generation <= ?", (index - self.keep,))


class Training:
    def __init__(self, leaky):
        self.store = MetricStore(0 if leaky else 2)

    def generation(self, pp, index):
        with pp.phase("train"):
            histograms = [os.urandom(3000) for _ in range(300)]
            time.sleep(0.1)
        with pp.phase("store"):
            self.store.write(index, [(index, f"layer{n}", blob) for n, blob in enumerate(histograms)])
            del histograms
            time.sleep(0.1)
        with pp.phase("summary"):
            self.store.connection.execute("select count(*) from metric where generation = ?", (index,)).fetchone()
            time.sleep(0.1)


CASE = Case(
    name="blind_metrics_database",
    build=Training,
    truth=Truth(phase="store", kind="native"),
    source="synthetic",
    generations=26,
)
