"""Draws the learning curve of each generation for the report."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import gc
import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

plt.rcParams["figure.max_open_warning"] = 0


class Reporter:
    def __init__(self):
        self.curve = []
        self.last_image = b""

    def draw(self):
        figure, axes = plt.subplots(figsize=(4, 3), dpi=60)
        axes.plot(self.curve[-30:])
        axes.set_title(f"generation {len(self.curve)}")
        image = io.BytesIO()
        figure.savefig(image, format="png")
        self.last_image = image.getvalue()
        if not driver.LEAK:
            plt.close(figure)
            if len(self.curve) % 10 == 0:
                gc.collect()


def main():
    rng = np.random.default_rng(12)
    reporter = Reporter()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            reporter.curve.append(float(rng.random()))
            driver.work(35)
        with pp.profile_phase("report"):
            reporter.draw()
            driver.work(10)
    driver.finish()


main()
