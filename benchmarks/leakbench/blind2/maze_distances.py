"""Mazes that cache their distance maps; one cache is shared by all mazes and keeps each of them."""

import time
from collections import deque
from functools import lru_cache

import numpy as np

from leakbench import Case, Truth


class Maze:
    def __init__(self, rng, size=64):
        self.walls = rng.random((size, size))
        self.own = {}

    def flood(self, goal):
        rows, columns = np.indices(self.walls.shape)
        return np.abs(rows - goal).astype(np.float32) + np.abs(columns - goal) * self.walls

    @lru_cache(maxsize=None)
    def distances(self, goal):
        return self.flood(goal)

    def distances_of_mine(self, goal):
        if goal not in self.own:
            self.own[goal] = self.flood(goal)
        return self.own[goal]


class Curriculum:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(3)
        self.recent = deque(maxlen=18)
        self.level = 0.0

    def generation(self, pp, index):
        with pp.phase("solve"):
            total = 0.0
            for _ in range(3):
                maze = Maze(self.rng)
                self.recent.append(maze)
                for goal in (5, 40):
                    field = maze.distances(goal) if self.leaky else maze.distances_of_mine(goal)
                    total += float(field[0, 0])
            time.sleep(0.14)
        with pp.phase("grade"):
            self.level = 0.9 * self.level + 0.1 * total
            time.sleep(0.06)


CASE = Case(
    name="blind2_maze_distances",
    build=Curriculum,
    truth=Truth(
        phase="solve",
        kind="arrays",
        subject="ndarray",
        holder=("distances",),
        also=("objects", "container", "native"),
        subject_also=("Maze",),
    ),
    source="https://github.com/getsentry/seer/pull/2512",
    generations=32,
)
