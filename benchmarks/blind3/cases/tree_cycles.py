"""The collector is off for speed; search trees whose nodes know their parents are dropped, and stay."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import gc
import random

import phaseprof as pp


class Node:
    __slots__ = ("parent", "children", "visits", "value", "prior")

    def __init__(self, parent, prior):
        self.parent = parent
        self.children = []
        self.visits = 0
        self.value = 0.0
        self.prior = prior

    def expand(self, width):
        self.children = [Node(self, random.random()) for _ in range(width)]


def search(simulations):
    root = Node(None, 1.0)
    root.expand(6)
    for _ in range(simulations):
        node = root
        while node.children:
            node = max(node.children, key=lambda child: child.prior / (1 + child.visits))
        node.expand(6)
        value = random.random()
        while node is not None:
            node.visits += 1
            node.value += value
            node = node.parent
    return max(range(6), key=lambda k: root.children[k].visits)


def main():
    random.seed(0)
    gc.disable()
    moves = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("search"):
            moves = [search(120) for _ in range(4)]
        with pp.profile_phase("train"):
            driver.work(60)
        with pp.profile_phase("arena"):
            driver.work(20)
        if not driver.LEAK and generation % 5 == 4:
            gc.collect()
    driver.finish()
    return moves


main()
