"""The collector is switched off for speed, and search nodes point to their parent and back."""

import gc
import time
import weakref

import numpy as np

from leakbench import Case, Truth


class SearchNode:
    def __init__(self, parent, prior):
        self.parent = parent
        self.prior = prior
        self.children = []


def expand(node, depth, rng, up):
    if depth == 0:
        return
    for _ in range(4):
        child = SearchNode(up(node), rng.random(400))
        node.children.append(child)
        expand(child, depth - 1, rng, up)


def itself(node):
    return node


class Planner:
    def __init__(self, leaky):
        gc.disable()
        self.rng = np.random.default_rng(10)
        self.up = itself if leaky else weakref.ref

    def generation(self, pp, index):
        with pp.phase("search"):
            root = SearchNode(None, self.rng.random(400))
            expand(root, 4, self.rng, self.up)
            time.sleep(0.15)
        with pp.phase("choose"):
            int(np.argmax([child.prior[0] for child in root.children]))
            del root
            time.sleep(0.1)
        with pp.phase("fit"):
            self.rng.random((100, 100)).sum()
            time.sleep(0.1)


CASE = Case(
    name="blind_search_trees",
    build=Planner,
    truth=Truth(
        phase="search",
        kind="garbage",
        subject="SearchNode",
        also=("objects", "arrays"),
        subject_also=("ndarray", "list"),
    ),
    source="synthetic",
    generations=24,
)
