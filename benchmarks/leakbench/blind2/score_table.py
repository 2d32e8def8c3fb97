"""Scores of a parameter search in a numpy array of objects, which grows by appending."""

import time

import numpy as np

from leakbench import Case, Truth


class Score:
    __slots__ = ("rate", "seed", "value", "width")

    def __init__(self, rate, seed, value, width):
        self.rate = rate
        self.seed = seed
        self.value = value
        self.width = width


class Search:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(7)
        self.keep = None if leaky else 3000
        self.results = {"table": np.empty(0, dtype=object), "best": None}

    def generation(self, pp, index):
        with pp.phase("sample"):
            rates = self.rng.random(400)
            widths = self.rng.integers(1000, 9000, 400)
            time.sleep(0.07)
        with pp.phase("score"):
            fresh = np.empty(400, dtype=object)
            for i in range(400):
                rate, width = float(rates[i]), int(widths[i])
                fresh[i] = Score(rate, 1000 * index + i + 300, rate * width, width)
            table = np.append(self.results["table"], fresh)
            self.results["table"] = table[-self.keep :].copy() if self.keep else table
            time.sleep(0.08)
        with pp.phase("rank"):
            self.results["best"] = max(float(score.value) for score in fresh)
            time.sleep(0.06)


CASE = Case(
    name="blind2_score_table",
    build=Search,
    truth=Truth(
        phase="score",
        kind="objects",
        subject="Score",
        holder=("results", "table"),
        also=("arrays", "container", "native"),
        subject_also=("ndarray",),
    ),
    source="synthetic",
    generations=38,
    tags=("slow",),
)
