"""A curriculum of mazes: each is made from the one before with some more walls, and can be pickled for workers."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import gymnasium as gym
import numpy as np
from gymnasium.utils import EzPickle

import phaseprof as pp


class Maze(gym.Env, EzPickle):
    def __init__(self, easier=None, seed=0, walls=None):
        rng = np.random.default_rng(seed)
        if walls is None:
            walls = np.zeros((420, 420), np.int8) if easier is None else easier.walls.copy()
            walls[rng.integers(0, 420, 60), rng.integers(0, 420, 60)] = 1
        self.walls = walls
        self.action_space = gym.spaces.Discrete(4)
        self.observation_space = gym.spaces.Box(0, 1, (5, 5), np.int8)
        if driver.LEAK:
            EzPickle.__init__(self, easier, seed)
        else:
            EzPickle.__init__(self, seed=seed, walls=walls)

    def look(self):
        x, y = self.at
        return self.walls[x - 2:x + 3, y - 2:y + 3]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.array([210, 210])
        return self.look(), {}

    def step(self, action):
        move = ((0, 1), (1, 0), (0, -1), (-1, 0))[action]
        target = np.clip(self.at + move, 2, 417)
        free = not self.walls[tuple(target)]
        self.at = target if free else self.at
        return self.look(), float(free), False, False, {}


def main():
    rng = np.random.default_rng(107)
    maze = Maze()
    replay = deque(maxlen=2600)
    returns = deque(maxlen=30)
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("construct"):
            maze = Maze(maze, seed=generation)
            driver.work(30)
        with pp.profile_phase("play"):
            seen, _ = maze.reset(seed=generation)
            total = 0.0
            for action in rng.integers(0, 4, 120):
                seen, reward, *_ = maze.step(int(action))
                replay.append(seen.astype(np.float32))
                total += reward
            returns.append(total)
            driver.work(40)
        with pp.profile_phase("learn"):
            driver.work(50)
    driver.finish()


main()
