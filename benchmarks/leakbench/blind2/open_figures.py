"""Plots of the returns, with a plotting library that is imported when it is first needed."""

import time

import numpy as np

from leakbench import Case, Truth


class Returns:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(19)
        self.latest = np.zeros(1500)

    def plot(self):
        import matplotlib

        matplotlib.use("Agg")
        matplotlib.rcParams["figure.max_open_warning"] = 0
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(figsize=(2, 1.5))
        axes.plot(self.latest)
        axes.set_title(f"mean {self.latest.mean():.2f}")
        if not self.leaky:
            plt.close(figure)

    def generation(self, pp, index):
        with pp.phase("evaluate"):
            self.latest = self.rng.random(1500).cumsum()
            time.sleep(0.12)
        with pp.phase("plot"):
            if index >= 2:
                self.plot()
            time.sleep(0.06)


CASE = Case(
    name="blind2_open_figures",
    build=Returns,
    truth=Truth(
        phase="plot",
        kind="objects",
        subject="Figure",
        holder=("figs",),
        also=("container", "native", "arrays"),
        subject_also=("FigureManagerBase", "FigureCanvasAgg", "Axes", "Line2D", "dict"),
    ),
    source="https://github.com/Axelrod-Python/Axelrod/pull/184",
    generations=36,
    needs=("matplotlib",),
)
