"""Strategies are classes that are made at run time; each subclass enters its base's registry under its own name."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import gc
import random

import phaseprof as pp


class Strategy:
    registry = {}
    table = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        Strategy.registry[cls.__name__] = cls

    def act(self, observation):
        return self.table[observation % len(self.table)]


def invent(generation, number):
    name = f"Strategy_{generation}_{number}" if driver.LEAK else f"Strategy_{number}"
    table = tuple(random.random() for _ in range(40))

    def bonus(self, observation):
        return self.act(observation) + table[0]

    return type(name, (Strategy,), {"table": table, "bonus": bonus, "__slots__": ()})


def main():
    random.seed(3)
    best = None
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("invent"):
            strategies = [invent(generation, k) for k in range(60)]
            driver.work(15)
        with pp.profile_phase("play"):
            scores = [sum(cls().bonus(o) for o in range(30)) for cls in strategies]
            best = max(scores)
            driver.work(50)
        with pp.profile_phase("learn"):
            driver.work(40)
        del strategies
        if generation % 5 == 4:
            gc.collect()
    driver.finish()
    return best


main()
