"""A configuration class is made afresh for every trial, and the factory's table keeps each one.

The healthy factory keys its table by the settings, of which there are a dozen.
"""

import random

from leakbench import Case, Truth


class BaseConfig:
    def describe(self):
        return ", ".join(f"{key}={value}" for key, value in vars(type(self)).items() if not key.startswith("_"))


class ConfigFactory:
    def __init__(self):
        self.classes = {}

    def make(self, key, settings):
        if key not in self.classes:
            self.classes[key] = type("TrialConfig", (BaseConfig,), dict(settings))
        return self.classes[key]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(0)
        self.factory = ConfigFactory()
        self.trials = 0
        self.best = 0.0

    def generation(self, pp, index):
        with pp.phase("make_trials"):
            configs = []
            for _ in range(60):
                self.trials += 1
                settings = {"rate": self.random.choice([0.1, 0.01, 0.001]), "depth": self.random.choice([2, 3, 4, 5])}
                key = self.trials if self.leaky else tuple(settings.values())
                configs.append(self.factory.make(key, settings)())
        with pp.phase("evaluate_trials"):
            for config in configs:
                score = sum(config.rate * self.random.random() for _ in range(200))
                self.best = max(self.best, score)
        with pp.phase("log"):
            configs[0].describe()


CASE = Case(
    name="config_class_per_trial",
    build=Trainer,
    truth=Truth(
        phase="make_trials",
        kind="objects",
        subject="type",
        holder=("ConfigFactory", "classes"),
        also=("container",),
        subject_also=("TrialConfig",),
        site=("ConfigFactory.make",),
    ),
    source="567-labs/instructor#2603; pydantic/pydantic#11100, #3829",
)
