"""A plotting library lists every open figure in a class-wide table, and the trainer never closes one."""

import itertools

import numpy as np

from leakbench import Case, Truth


class Line:
    def __init__(self, values):
        self.values = values


class Figure:
    def __init__(self, number):
        self.number = number
        self.lines = []
        self.canvas = np.full((160, 320, 4), 255, dtype=np.uint8)

    def plot(self, values):
        self.lines.append(Line(values))
        rows = np.clip((values * 20 + 80).astype(int), 0, 159)
        self.canvas[rows, np.linspace(0, 319, len(rows)).astype(int), :3] = 0


class FigureManager:
    figures = {}
    numbers = itertools.count(1)

    @classmethod
    def new_figure(cls):
        figure = Figure(next(cls.numbers))
        cls.figures[figure.number] = figure
        return figure

    @classmethod
    def close(cls, figure):
        del cls.figures[figure.number]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.weights = np.zeros(64)

    def generation(self, pp, index):
        with pp.phase("train_step"):
            gradients = self.rng.standard_normal((100, 64))
            for gradient in gradients:
                self.weights -= 0.01 * gradient
        with pp.phase("log_plots"):
            for values in (self.weights.copy(), gradients[0], gradients[-1]):
                figure = FigureManager.new_figure()
                figure.plot(values.copy())
                figure.canvas.mean()
                if not self.leaky:
                    FigureManager.close(figure)


CASE = Case(
    name="figures_not_closed",
    build=Trainer,
    truth=Truth(
        phase="log_plots",
        kind="objects",
        subject="Figure",
        holder=("FigureManager", "figures"),
        also=("arrays", "container"),
        subject_also=("ndarray", "Line", "dict"),
        site=("FigureManager.new_figure", "Figure.__init__", "Figure.plot"),
    ),
    source="Clay-foundation/model PR#158; matplotlib/matplotlib#8519",
)
