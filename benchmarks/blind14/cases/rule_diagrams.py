"""Sets of rules evolve; each becomes a decision diagram with shared nodes, which tells how often it is true."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

FACTS = 18


class Node:
    __slots__ = ("fact", "low", "high", "true")

    def __init__(self, fact, low, high, true):
        self.fact, self.low, self.high, self.true = fact, low, high, true


NO, YES = Node(FACTS, None, None, 0.0), Node(FACTS, None, None, 1.0)


def random_rule(rng):
    return {int(fact): bool(rng.integers(2)) for fact in rng.choice(FACTS, 4, replace=False)}


class Diagrams:
    def __init__(self):
        self.unique = {}
        self.joined = {}

    def node(self, fact, low, high):
        if low is high:
            return low
        key = fact, id(low), id(high)
        if key not in self.unique:
            self.unique[key] = Node(fact, low, high, (low.true + high.true) / 2)
        return self.unique[key]

    def rule(self, literals):
        made = YES
        for fact in sorted(literals, reverse=True):
            made = self.node(fact, NO, made) if literals[fact] else self.node(fact, made, NO)
        return made

    def either(self, a, b):
        if a is YES or b is YES:
            return YES
        if a is NO or a is b:
            return b
        if b is NO:
            return a
        key = id(a), id(b)
        if key not in self.joined:
            fact = min(a.fact, b.fact)
            a_low, a_high = (a.low, a.high) if a.fact == fact else (a, a)
            b_low, b_high = (b.low, b.high) if b.fact == fact else (b, b)
            self.joined[key] = self.node(fact, self.either(a_low, b_low), self.either(a_high, b_high))
        return self.joined[key]

    def next_generation(self):
        self.joined.clear()
        if not driver.LEAK:
            self.unique.clear()


def main():
    rng = np.random.default_rng(103)
    diagrams = Diagrams()
    archive = deque(maxlen=40)
    for generation in pp.generations(range(driver.generations(122))):
        with pp.profile_phase("mutate"):
            sets = [[random_rule(rng) for _ in range(6)] for _ in range(12)]
            archive.append(rng.random(5000))
            driver.work(60)
        with pp.profile_phase("compile"):
            roots = []
            for rules in sets:
                root = NO
                for literals in rules:
                    root = diagrams.either(root, diagrams.rule(literals))
                roots.append(root)
            driver.work(40)
        with pp.profile_phase("select"):
            best = max(root.true for root in roots)
            archive[-1][0] = best
            del roots, root
            diagrams.next_generation()
            driver.work(40)
    driver.finish()


main()
