"""The shaped reward is compiled with TorchScript before the rollouts, since they call it often."""

import collections
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import torch

import phaseprof as pp

torch.set_num_threads(1)

warnings.filterwarnings("ignore")


def shaped_reward():
    def reward(state, goal, weights):
        total = -(state - goal).abs().sum(1) * weights[0]
        for k in range(3):
            if k % 2 == 0:
                total = total + torch.relu(weights[k] - state[:, k]).sum()
            else:
                total = total - (state * goal).mean() * weights[k]
        return torch.tanh(total)

    return torch.jit.script(reward)


class Shaping:
    def __init__(self):
        self.reward = None
        self.weights = torch.ones(4)

    def update(self, weights):
        self.weights = weights
        if driver.LEAK or self.reward is None:
            self.reward = shaped_reward()


def main():
    torch.manual_seed(5)
    shaping = Shaping()
    replay = collections.deque(maxlen=20)
    for _ in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("shape"):
            shaping.update(torch.rand(4))
            driver.work(20)
        with pp.profile_phase("rollout"):
            state, goal = torch.zeros(64, 16), torch.randn(64, 16)
            for _ in range(10):
                state = state + 0.1 * (goal - state) + torch.randn(64, 16) / 10
                shaping.reward(state, goal, shaping.weights)
            replay.append(np.array(state).repeat(20, 0))
            driver.work(55)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()


main()
