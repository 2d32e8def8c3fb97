"""Evaluations with a bar each, of one display which lives as long as the run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import io

import numpy as np
from rich.console import Console
from rich.progress import Progress

BARS, STEPS = 8, 600
Row = collections.namedtuple("Row", "generation suite score spread")


def evaluate(progress, generation, suite, rng):
    task = progress.add_task(f"generation {generation}, suite {suite}", total=STEPS)
    scores = rng.normal(size=STEPS).tolist()
    total = 0.0
    for score in scores:
        total += score
        progress.advance(task)
    if not driver.LEAK:
        progress.remove_task(task)
    return Row(generation, suite, total / STEPS, float(np.std(scores)))


def main():
    rng = np.random.default_rng(1)
    progress = Progress(console=Console(file=io.StringIO(), width=80), auto_refresh=False, disable=True)
    rows = collections.deque(maxlen=160)
    targets = np.zeros((22, 256, 256), np.float32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            targets[generation % 22] = generation
            driver.work(50)
        with pp.profile_phase("evaluate"):
            for suite in range(BARS):
                rows.append(evaluate(progress, generation, suite, rng))
            driver.work(15)
        with pp.profile_phase("report"):
            sorted(rows, key=lambda row: row.score)
            driver.work(20)
    driver.finish()


main()
