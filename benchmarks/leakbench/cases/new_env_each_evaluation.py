"""An evolutionary trainer makes a trading environment for every evaluation, and a registry keeps each one.

Two environments are right, one to train and one to evaluate.  The healthy build resets the second.
"""

import numpy as np

from leakbench import Case, Truth


class EnvRegistry:
    """Lets a dashboard list the environments that run."""

    def __init__(self):
        self.environments = []


class TradingEnvironment:
    def __init__(self, prices, registry):
        self.prices = prices.copy()
        self.reset()
        registry.environments.append(self)

    def reset(self):
        self.step_at = 0
        self.cash = 0.0

    def run(self, weights, steps=40):
        for _ in range(steps):
            window = self.prices[self.step_at : self.step_at + len(weights)]
            self.cash += float(np.tanh(window @ weights))
            self.step_at += 1
        return self.cash


class EvolutionTrainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.prices = np.cumsum(self.rng.standard_normal(8192)) / 100
        self.registry = EnvRegistry()
        self.train_env = TradingEnvironment(self.prices, self.registry)
        self.eval_env = TradingEnvironment(self.prices, self.registry)
        self.population = [self.rng.standard_normal(32) for _ in range(16)]

    def fitness(self, agent):
        if self.leaky:
            self.eval_env = TradingEnvironment(self.prices, self.registry)
        self.eval_env.reset()
        return self.eval_env.run(agent)

    def generation(self, pp, index):
        if index == 0:
            pp.watch(TradingEnvironment, expected=2)
        with pp.phase("train"):
            for agent in self.population:
                self.train_env.reset()
                agent += 1e-3 * self.train_env.run(agent, steps=10)
        with pp.phase("evaluate_population"):
            scores = [self.fitness(agent) for agent in self.population]
        with pp.phase("evolve_population"):
            parents = [self.population[i] for i in np.argsort(scores)[-4:]]
            self.population = [parents[i % 4] + 0.1 * self.rng.standard_normal(32) for i in range(16)]


CASE = Case(
    name="new_env_each_evaluation",
    build=EvolutionTrainer,
    truth=Truth(
        phase="evaluate_population",
        kind="objects",
        subject="TradingEnvironment",
        holder=("EnvRegistry", "environments"),
        also=("arrays", "container"),
        subject_also=("ndarray", "list"),
        site=("EvolutionTrainer.fitness", "TradingEnvironment.__init__"),
    ),
    source="synthetic",
)
