"""An environment that starts again by itself tells how the last episode ended in the info of the next."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np


class GridWorld:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.left = 0

    def reset(self):
        self.left = int(self.rng.integers(5, 20))
        return self.rng.random((3, 24, 24)), {"episode": {"r": 0.0, "l": 0}}

    def step(self, action):
        self.left -= 1
        info = {"episode": {"r": float(action), "l": self.left}}
        return self.rng.random((3, 24, 24)), 1.0, self.left <= 0, info


class AutoReset:
    def __init__(self, env):
        self.env = env
        self.observation, self.info = env.reset()

    def step(self, action):
        observation, reward, done, info = self.env.step(action)
        if done:
            final = dict(info, final_observation=observation)
            if driver.LEAK:
                final["before"] = self.info
            observation, info = self.env.reset()
            info["final_info"] = final
        elif "final_info" in self.info:
            info["final_info"] = self.info["final_info"]  # for wrappers that look at every step
        self.observation, self.info = observation, info
        return observation, reward, done, info


def main():
    envs = [AutoReset(GridWorld(seed)) for seed in range(12)]
    memory = np.zeros((50_000, 16))
    cursor = 0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            for _ in range(24):
                for env in envs:
                    observation, _, _, _ = env.step(1)
                    for _ in range(8):
                        memory[cursor] = observation[0, 0, :16]
                        cursor = (cursor + 1) % len(memory)
                driver.work(1)
        with pp.profile_phase("gae"):
            driver.work(15)
        with pp.profile_phase("optimise"):
            driver.work(45)
    driver.finish()


main()
