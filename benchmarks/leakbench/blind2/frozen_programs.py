"""Evolved programs are trees whose nodes know their parents; they are frozen out of the collector's sight."""

import gc
import random
import time

from leakbench import Case, Truth


class Node:
    __slots__ = ("children", "parent", "value")

    def __init__(self, parent, value):
        self.parent = parent
        self.value = value
        self.children = []


def grow(rng, depth, parent=None):
    node = Node(parent, rng.random())
    if depth:
        node.children = [grow(rng, depth - 1, node) for _ in range(2)]
    return node


def evaluate(node):
    return node.value + sum(evaluate(child) for child in node.children)


class GeneticProgramming:
    def __init__(self, leaky):
        self.thaw = not leaky
        self.random = random.Random(14)
        self.best = 0.0

    def generation(self, pp, index):
        with pp.phase("breed"):
            programs = [grow(self.random, 5) for _ in range(8)]
            gc.freeze()  # keeps the collector away while the programs are timed
            time.sleep(0.06)
        with pp.phase("evaluate"):
            self.best = max(self.best, *(evaluate(program) for program in programs))
            time.sleep(0.1)
        with pp.phase("replace"):
            if self.thaw:
                gc.unfreeze()
            programs.clear()
            if index % 6 == 5:
                gc.collect()
            time.sleep(0.04)


CASE = Case(
    name="blind2_frozen_programs",
    build=GeneticProgramming,
    truth=Truth(
        phase="breed",
        kind="garbage",
        subject="Node",
        also=("objects", "native"),
        subject_also=("list",),
    ),
    source="synthetic",
    generations=40,
    tags=("slow",),
)
