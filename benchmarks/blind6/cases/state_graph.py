"""An agent which explores keeps a graph of the states it has been in, to plan the way back to the frontier."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import networkx as nx
import numpy as np

STEPS = 500


class Explorer:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.graph = nx.DiGraph()
        self.position = np.array([5.0, 5.0])

    def key(self, position):
        if driver.LEAK:
            return tuple(round(float(v), 6) for v in position)
        return tuple(int(v // 1.25) for v in position)

    def walk(self):
        before = self.key(self.position)
        for move in self.rng.normal(0, 0.5, (STEPS, 2)):
            self.position = (self.position + move) % 10
            now = self.key(self.position)
            self.graph.add_edge(before, now)
            before = now
        return before

    def frontier(self, start, depth):
        reached = nx.single_source_shortest_path_length(self.graph.reverse(copy=False), start, cutoff=depth)
        return max(reached, key=reached.get)


def main():
    explorer = Explorer(14)
    ring = [None] * 25
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("explore"):
            last = explorer.walk()
            driver.work(30)
        with pp.profile_phase("plan"):
            explorer.frontier(last, 6)
            driver.work(20)
        with pp.profile_phase("learn"):
            ring[generation % 25] = explorer.rng.normal(size=(STEPS, 64))
            driver.work(40)
    driver.finish()


main()
