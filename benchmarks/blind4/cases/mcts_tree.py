"""Tree search with the collector of the interpreter off, for even step times."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import gc

import numpy as np

ACTIONS = 4


class Node:
    def __init__(self, parent, prior):
        self.parent = parent
        self.prior = prior
        self.children = {}
        self.visits = 0
        self.value = 0.0

    def select(self):
        return max(range(ACTIONS), key=lambda a: self.prior[a] / (1 + (self.children[a].visits if a in self.children else 0)))


class Search:
    def __init__(self):
        self.rng = np.random.default_rng(11)

    def plan(self, simulations=350):
        root = Node(None, self.rng.random(64))
        for _ in range(simulations):
            node = root
            while True:
                action = node.select()
                if action not in node.children:
                    node.children[action] = Node(node, self.rng.random(64))
                    break
                node = node.children[action]
            value = float(self.rng.random())
            while node is not None:
                node.visits += 1
                node.value += value
                node = node.parent
        return max(root.children, key=lambda a: root.children[a].visits)


def main():
    gc.collect()
    gc.disable()
    search = Search()
    actions = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("search"):
            actions.append(search.plan())
            driver.work(50)
            if not driver.LEAK and generation % 8 == 7:
                gc.collect()
        with pp.profile_phase("fit_value"):
            del actions[:-50]
            driver.work(40)
    driver.finish()


main()
