"""Each generation a swarm of agents is made, which look at their neighbours and act."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Agent:
    def __init__(self, rng):
        self.memory = rng.normal(size=400)
        self.neighbours = []

    def look(self, others):
        if driver.LEAK:
            self.neighbours = np.array(others, dtype=object)
        else:
            self.neighbours = list(others)

    def act(self):
        self.memory += sum(float(other.memory[0]) for other in self.neighbours) / 100
        return self.memory.mean()


def main():
    rng = np.random.default_rng(16)
    window = np.zeros((40, 120, 64))
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("hatch"):
            agents = [Agent(rng) for _ in range(64)]
            for number, agent in enumerate(agents):
                agent.look([agents[number - 1], agents[(number + 1) % 64], agents[(number + 7) % 64]])
            driver.work(45)
        with pp.profile_phase("act"):
            scores = [agent.act() for agent in agents]
            driver.work(60)
        with pp.profile_phase("select"):
            window[generation % 40] = rng.normal(size=(120, 64)) + np.mean(scores)
            driver.work(45)
        if generation % 6 == 5:
            del agents, agent
            gc.collect()
    driver.finish()


main()
