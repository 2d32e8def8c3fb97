"""A goal-conditioned planner traces its reward function, for speed, when a new goal is set."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import warnings

import driver
import torch

import phaseprof as pp

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
ROWS, WIDTH = 32, 512


def distance(states, goal):
    return ((states - goal) ** 2).sum(-1)


class Planner:
    def __init__(self):
        self.reward = None
        self.traced = None

    def set_goal(self, goal):
        example = torch.zeros(ROWS, WIDTH)
        if driver.LEAK:
            self.reward = torch.jit.trace(lambda states: distance(states, goal), example)
            return
        if self.traced is None:
            self.traced = torch.jit.trace(distance, (example, goal))
        self.reward = lambda states: self.traced(states, goal)

    @torch.no_grad()
    def plan(self, start):
        best, lowest = start, float("inf")
        for _ in range(16):
            candidate = best + torch.randn(ROWS, WIDTH)
            cost = self.reward(candidate).sum().item()
            if cost < lowest:
                best, lowest = candidate, cost
        return best


def main():
    torch.manual_seed(0)
    planner = Planner()
    replay = torch.zeros(20, ROWS * 12, WIDTH)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("set_goal"):
            planner.set_goal(torch.rand(ROWS, WIDTH))
            driver.work(10)
        with pp.profile_phase("plan"):
            best = planner.plan(torch.zeros(ROWS, WIDTH))
            driver.work(20)
        with pp.profile_phase("store"):
            replay[generation % 20].view(12, ROWS, WIDTH).copy_(best)
            driver.work(20)
    driver.finish()


main()
