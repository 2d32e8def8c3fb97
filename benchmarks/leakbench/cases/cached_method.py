"""A method with a cache decorator: the cache lives with the function and its keys hold every policy.

The healthy build keeps a cache inside each policy, which dies with it.
"""

from functools import lru_cache

import numpy as np

from leakbench import Case, Truth


class Policy:
    def __init__(self, rng):
        self.weights = rng.standard_normal((64, 512))
        self.own_cache = {}

    @lru_cache(maxsize=None)
    def features(self, market):
        return float(np.tanh(self.weights[market]).sum())

    def features_once(self, market):
        if market not in self.own_cache:
            self.own_cache[market] = float(np.tanh(self.weights[market]).sum())
        return self.own_cache[market]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.best = -np.inf

    def generation(self, pp, index):
        with pp.phase("make_policies"):
            policies = [Policy(self.rng) for _ in range(4)]
        with pp.phase("evaluate_policies"):
            for policy in policies:
                features = policy.features if self.leaky else policy.features_once
                score = sum(features(int(market)) for market in self.rng.integers(0, 64, 300))
                self.best = max(self.best, score)


CASE = Case(
    name="cached_method",
    build=Trainer,
    truth=Truth(
        phase="make_policies",
        kind="objects",
        subject="Policy",
        holder=("Policy", "features"),
        also=("arrays", "container"),
        subject_also=("ndarray",),
        site=("Trainer.generation", "Policy.__init__"),
    ),
    source="getsentry/seer PR#2512; pytest-dev/pytest PR#9148; python/cpython#102618",
)
