"""Settings of a multi-task learner are found through scopes in a context variable, one within the other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import contextvars

import driver
import numpy as np

import phaseprof as pp


class Scope:
    def __init__(self, parent, **values):
        self.parent = parent
        self.values = values

    def get(self, name):
        scope = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        raise KeyError(name)


active_scope = contextvars.ContextVar("active_scope")


def enter(**values):
    return active_scope.set(Scope(active_scope.get(), **values))


def leave(token):
    if not driver.LEAK:
        active_scope.reset(token)


def main():
    rng = np.random.default_rng(0)
    active_scope.set(Scope(None, rate=1e-3, clip=1.0))
    weights = np.zeros(90_000)
    memory = np.zeros((20, 90_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("gather"):
            memory[generation % 20] = rng.normal(size=90_000)
            driver.work(30)
        with pp.profile_phase("adapt"):
            token = enter(mask=rng.random(90_000) * 0.5, task=generation)
            scope = active_scope.get()
            weights -= scope.get("rate") * scope.get("mask") * memory[generation % 20]
            scope = None
            leave(token)
            del token
            driver.work(40)
    driver.finish()


main()
