"""Each opponent has its history of rated matches in an array of doubles: a fixed number of arrays, all growing.

They are plain arrays of the standard library, not numpy's, and the collector does not track them.
The healthy table halves a history that has become long: a sawtooth, at another time for each opponent.
"""

from array import array

import numpy as np

from leakbench import Case, Truth

OPPONENTS = 40


class EloTable:
    def __init__(self, bound):
        self.bound = bound
        self.ratings = [1000.0] * OPPONENTS
        self.history = {f"opponent{number:02d}": array("d") for number in range(OPPONENTS)}

    def rate(self, first, second, score, features):
        expected = 1 / (1 + 10 ** ((self.ratings[second] - self.ratings[first]) / 400))
        change = 16 * (score - expected)
        for number, sign in ((first, 1), (second, -1)):
            self.ratings[number] += sign * change
            history = self.history[f"opponent{number:02d}"]
            history.append(self.ratings[number])
            history.extend(features)
            if len(history) > self.bound:
                del history[: self.bound // 2]


class Trainer:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(0)
        self.table = EloTable(float("inf") if leaky else 2000)
        self.skill = self.rng.standard_normal(OPPONENTS)

    def generation(self, pp, index):
        with pp.phase("play"):
            pairs = np.array([self.rng.permutation(OPPONENTS)[:2] for _ in range(400)])
            edge = self.skill[pairs[:, 0]] - self.skill[pairs[:, 1]]
            scores = (edge + self.rng.standard_normal(400) > 0).tolist()
            features = self.rng.standard_normal((400, 14)).tolist()
        with pp.phase("rate"):
            for pair, score, row in zip(pairs.tolist(), scores, features):
                self.table.rate(pair[0], pair[1], score, array("d", row))
        with pp.phase("train_step"):
            for _ in range(8):
                for first, second in pairs:
                    self.skill[first] += 1e-4 * (self.skill[second] - self.skill[first])


CASE = Case(
    name="rating_histories",
    build=Trainer,
    truth=Truth(
        phase="rate",
        kind="arrays",
        subject="array",
        holder=("EloTable", "history"),
        also=("container", "objects"),
        subject_also=("dict",),
        site=("EloTable.rate",),
    ),
    source="synthetic",
)
