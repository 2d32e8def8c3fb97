"""A curriculum makes mazes, and gymnasium makes environments of them by their names."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import gymnasium
import numpy as np

import phaseprof as pp


class Maze(gymnasium.Env):
    def __init__(self, walls):
        self.observation_space = gymnasium.spaces.Box(0, 1, (64,), np.float64)
        self.action_space = gymnasium.spaces.Discrete(4)
        self.walls = walls
        self.row = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.row = 0
        return self.walls[0], {}

    def step(self, action):
        self.row += 1
        return self.walls[self.row], float(action), self.row == 30, False, {}


class Curriculum:
    def __init__(self):
        self.rng = np.random.default_rng(47)

    def add(self, number):
        name = f"Maze{number}-v0"
        walls = [self.rng.random(64) for _ in range(90)]
        gymnasium.register(name, entry_point=Maze, kwargs={"walls": walls}, disable_env_checker=True)
        return name

    def drop(self, name):
        del gymnasium.registry[name]


def main():
    curriculum = Curriculum()
    returns = deque(maxlen=60)
    for generation in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("propose"):
            names = [curriculum.add(4 * generation + k) for k in range(4)]
            driver.work(20)
        with pp.profile_phase("rollout"):
            for name in names:
                env = gymnasium.make(name)
                env.reset(seed=generation)
                done, total = False, 0.0
                while not done:
                    _, reward, done, _, _ = env.step(1)
                    total += reward
                returns.append(total)
                env.close()
            driver.work(60)
        with pp.profile_phase("train"):
            if not driver.LEAK:
                for name in names:
                    curriculum.drop(name)
            driver.work(45)
    driver.finish()


main()
