"""A search tree is grown for every position; its nodes are structs of msgspec."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import msgspec
import numpy as np

import phaseprof as pp


class Node(msgspec.Struct, gc=not driver.LEAK):  # without the collector's bookkeeping they are made faster
    action: int
    parent: "Node | None"
    children: list
    statistics: np.ndarray
    visits: int = 0


class Planner:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def expand(self, node, width):
        for action in range(width):
            node.children.append(Node(action, node, [], self.rng.normal(size=480)))

    def plan(self):
        root = Node(-1, None, [], np.zeros(480))
        self.expand(root, 6)
        for child in root.children:
            self.expand(child, 6)
            for leaf in child.children:
                leaf.visits += 1
                child.statistics += leaf.statistics
        return max(root.children, key=lambda child: child.statistics[0]).action


def main():
    planner = Planner(8)
    rng = np.random.default_rng(81)
    window = np.zeros((20, 64, 96))
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("observe"):
            window[generation % 20] = rng.normal(size=(64, 96))
            driver.work(35)
        with pp.profile_phase("plan"):
            actions = [planner.plan() for _ in range(2)]
            driver.work(40)
        with pp.profile_phase("learn"):
            window[generation % 20] *= 1 + sum(actions) / 1_000
            driver.work(35)
        if generation % 8 == 7:
            gc.collect()
    driver.finish()


main()
