"""A planner's roadmap learns from rollouts: every edge has the trajectories that went along it."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import networkx as nx
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(150)
PER_EDGE = 3


class Roadmap:
    def __init__(self):
        self.graph = nx.grid_2d_graph(12, 12)
        for _, _, edge in self.graph.edges(data=True):
            edge["crossings"] = [] if driver.LEAK else collections.deque(maxlen=PER_EDGE)

    def walk(self, rng, length):
        place, path = (0, 0), []
        for _ in range(length):
            near = list(self.graph[place])
            following = near[rng.integers(len(near))]
            path.append((place, following))
            place = following if rng.random() > 0.2 else tuple(int(x) for x in rng.integers(0, 12, 2))
        return path

    def learn(self, path, trajectory):
        for edge, states in zip(path, trajectory, strict=True):
            self.graph.edges[edge]["crossings"].append(states.copy())


def main():
    rng = np.random.default_rng(21)
    roadmap = Roadmap()
    cost = 0.0
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("rollout"):
            path = roadmap.walk(rng, 90)
            trajectory = rng.normal(size=(90, 30, 8))
            driver.work(45)
        with pp.profile_phase("learn"):
            roadmap.learn(path, trajectory)
            driver.work(35)
        with pp.profile_phase("plan"):
            cost += len(nx.shortest_path(roadmap.graph, (0, 0), (11, 11)))
            driver.work(40)
    driver.finish()


main()
