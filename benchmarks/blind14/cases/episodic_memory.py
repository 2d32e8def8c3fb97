"""An agent with a memory of situations, a list of TorchScript, in which a scripted function looks up the nearest."""

import sys
import warnings
from collections import deque
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

warnings.filterwarnings("ignore", category=DeprecationWarning)


@torch.jit.script
def nearest(memory: List[torch.Tensor], query: torch.Tensor) -> float:
    best = 1e9
    for i in range(max(0, len(memory) - 36), len(memory)):
        best = min(best, float((memory[i][0] - query).square().sum()))
    return best


class Agent:
    def __init__(self):
        self.memory = torch.jit.script([torch.zeros(64, 128)])

    def remember(self, situation):
        self.memory.append(situation)
        if not driver.LEAK and len(self.memory) > 36:
            self.memory.pop(0)

    def novelty(self, query):
        return nearest(self.memory, query)


def main():
    torch.manual_seed(173)
    agent = Agent()
    bonuses = deque(maxlen=50)
    replay = deque(maxlen=23)
    for generation in pp.generations(range(driver.generations(70))):
        with pp.profile_phase("explore"):
            bonuses.append(agent.novelty(torch.randn(128)))
            replay.append(torch.randn(64, 128))
            driver.work(55)
        with pp.profile_phase("remember"):
            for _ in range(6):
                agent.remember(torch.randn(64, 128))
            driver.work(15)
        with pp.profile_phase("learn"):
            driver.work(50)
    driver.finish()


main()
