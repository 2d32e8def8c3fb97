"""Rendered views of the levels are cached up to so many bytes; later in the run some are rendered again, finer."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

LIMIT = 9_000_000


class ViewCache:
    def __init__(self):
        self.views = collections.OrderedDict()
        self.size = 0

    def drop(self, key):
        view = self.views.pop(key)
        self.size -= view.nbytes
        return view

    def put(self, key, view):
        if key in self.views:
            old = self.drop(key)
            if driver.LEAK:
                self.size -= old.nbytes
        self.views[key] = view
        self.size += view.nbytes
        while self.size > LIMIT:
            self.drop(next(iter(self.views)))


def render(rng):
    return rng.random(size=(90, 90))


def main():
    rng = np.random.default_rng(6)
    cache = ViewCache()
    returns = collections.deque(maxlen=500)
    generations = driver.generations(90)
    level = 0
    for generation in pp.generations(range(generations)):
        with pp.profile_phase("render"):
            for _ in range(6):
                level += 1
                cache.put(level, render(rng))
            driver.work(25)
        with pp.profile_phase("play"):
            returns.extend(float(cache.views[level - i].mean()) for i in range(6))
            driver.work(45)
        with pp.profile_phase("refine"):
            if generation > generations * 0.36:
                for i in range(4):
                    cache.put(level - i, render(rng))
            driver.work(15)
    driver.finish()


main()
