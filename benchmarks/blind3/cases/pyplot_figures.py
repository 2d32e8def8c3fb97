"""A report of each generation is drawn with pyplot, and its figure is never closed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import gc
import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import phaseprof as pp  # noqa: E402


class Reporter:
    def __init__(self):
        self.curve = []
        self.picture = b""

    def draw(self, grid):
        figure, (left, right) = plt.subplots(1, 2, figsize=(3, 1.5), dpi=50)
        left.plot(self.curve)
        right.imshow(grid)
        page = io.BytesIO()
        figure.savefig(page)
        self.picture = page.getvalue()
        if not driver.LEAK:
            plt.close(figure)


def main():
    rng = np.random.default_rng(0)
    reporter = Reporter()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            grid = rng.random((100, 100))
            driver.work(30)
        with pp.profile_phase("train"):
            reporter.curve.append(float(grid.mean()))
            driver.work(40)
        with pp.profile_phase("plot"):
            reporter.draw(grid)
            if generation % 6 == 5:
                gc.collect()  # what is closed is cyclic
    driver.finish()


main()
