"""The curve of the last returns is drawn anew after each generation, on one figure."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from collections import deque

import driver
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import phaseprof as pp


class Board:
    def __init__(self):
        self.canvas = FigureCanvasAgg(Figure(figsize=(3, 2), dpi=50))
        self.axes = self.canvas.figure.subplots()
        self.axes.set_xlim(0, 8_000)
        self.axes.set_ylim(-4, 4)
        self.curve = None
        self.drawn = 0

    def show(self, returns):
        steps = np.arange(len(returns), dtype=float)
        if driver.LEAK or self.curve is None:
            self.curve, = self.axes.plot(steps, returns, linewidth=0.5)
        else:
            self.curve.set_data(steps, returns)
        self.drawn += 1
        if self.drawn % 15 == 0:
            self.canvas.draw()


def main():
    rng, board = np.random.default_rng(13), Board()
    replay = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay.append(rng.normal(size=(100, 400)))
            driver.work(20)
        with pp.profile_phase("learn"):
            driver.work(25)
        with pp.profile_phase("report"):
            board.show(replay[-1].ravel()[:8_000])
            driver.work(5)
    driver.finish()


main()
