"""Metrics are written as CSV into a buffer in memory, whose new part is sent off each generation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import csv
import io
import random


class Metrics:
    def __init__(self):
        self.sink = io.StringIO()
        self.writer = csv.writer(self.sink)
        self.sent = 0

    def log(self, *row):
        self.writer.writerow(row)

    def send(self):
        """The rows since the last time, as text."""
        self.sink.seek(self.sent)
        text = self.sink.read()
        self.sent = self.sink.tell()
        if not driver.LEAK:
            self.sink.seek(0)
            self.sink.truncate()
            self.sent = 0
        return text.count("\n")


def main():
    rng = random.Random(0)
    metrics = Metrics()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            for step in range(1500):
                metrics.log(generation, step, f"{rng.random():.8f}", f"{rng.random():.8f}", f"{rng.random():.8f}", "train/critic/loss",
                            "run-2024-alpha/seed-17/worker-3")
            driver.work(50)
        with pp.profile_phase("report"):
            metrics.send()
            driver.work(40)
    driver.finish()


main()
