"""Levels that were made once are kept in a cache, the least used of which go; its order is a linked list."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Node:
    __slots__ = ("after", "before", "key", "layout")

    def __init__(self, key, layout):
        self.key = key
        self.layout = layout
        self.before = None
        self.after = None


class LevelCache:
    def __init__(self, limit):
        self.limit = limit
        self.nodes = {}
        self.first = None
        self.last = None

    def add(self, key, layout):
        node = Node(key, layout)
        self.nodes[key] = node
        if self.first is None:
            self.first = self.last = node
        else:
            node.after = self.first
            self.first.before = node
            self.first = node
        if len(self.nodes) > self.limit:
            self.evict()

    def evict(self):
        node = self.last
        del self.nodes[node.key]
        self.last = node.before
        if not driver.LEAK:
            self.last.after = None
            node.before = None


def main():
    rng = np.random.default_rng(9)
    cache = LevelCache(1_500)
    key = 0
    solved = np.zeros(64)
    for _ in pp.generations(range(driver.generations(100))):
        with pp.profile_phase("generate"):
            for _ in range(60):
                key += 1
                cache.add(key, rng.bytes(4_000))
            driver.work(60)
        with pp.profile_phase("solve"):
            for number in range(max(1, key - 400), key, 7):
                solved[number % 64] += cache.nodes[number].layout[0]
            driver.work(70)
        with pp.profile_phase("train"):
            solved *= 0.9
            driver.work(40)
    driver.finish()


main()
