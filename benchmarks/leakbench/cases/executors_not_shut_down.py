"""Every search makes a thread pool and keeps it for later; the threads live on.

The healthy build shuts the pool down when the search is done.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from leakbench import Case, Truth


class HyperparameterSearch:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.data = self.rng.standard_normal((256, 16))
        self.weights = np.zeros(16)
        self.rate = 1e-3
        self.pools = []

    def score(self, rate):
        residual = self.data @ (self.weights * (1 - rate)) - 1.0
        return float(-np.square(residual).mean())

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for row in self.data:
                self.weights += self.rate * (1.0 - row @ self.weights) * row
        with pp.phase("search"):
            rates = list(10.0 ** self.rng.uniform(-4, -2, 8))
            pool = ThreadPoolExecutor(max_workers=4)
            scores = list(pool.map(self.score, rates))
            self.rate = rates[int(np.argmax(scores))]
            if self.leaky:
                self.pools.append(pool)
            else:
                pool.shutdown()


CASE = Case(
    name="executors_not_shut_down",
    build=HyperparameterSearch,
    truth=Truth(
        phase="search",
        kind="threads",
        subject="Thread",
        holder=("HyperparameterSearch", "pools"),
        also=("objects",),
        subject_also=("ThreadPoolExecutor",),
        site=("HyperparameterSearch.generation",),
    ),
    source="mem0ai/mem0#4586",
    generations=24,
)
