"""A population lives and dies; each agent leaves its history to the statistics when it goes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random

POPULATION, DEATHS = 60, 24


class Agent:
    fallen = {}

    def __init__(self, name, genes):
        self.name = name
        self.genes = genes
        self.history = []

    def live(self, rng):
        base = sum(self.genes)
        self.history = (self.history + [base + rng.gauss(0, 1) for _ in range(160)])[-480:]
        return self.history[-1]

    def __del__(self):
        fallen = Agent.fallen
        fallen[self.name] = self.history
        if not driver.LEAK and len(fallen) > 400:
            fallen.pop(next(iter(fallen)))


def main():
    rng = random.Random(9)
    born = 0
    population = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("breed"):
            while len(population) < POPULATION:
                born += 1
                parents = rng.sample(population, 2) if len(population) > 30 else []
                genes = [rng.choice(parents).genes[i] if parents else rng.gauss(0, 1) for i in range(16)]
                population.append(Agent(f"agent-{born}", genes))
            driver.work(25)
        with pp.profile_phase("live"):
            for agent in population:
                agent.live(rng)
            driver.work(40)
        with pp.profile_phase("select"):
            population.sort(key=lambda agent: agent.history[-1], reverse=True)
            del population[-DEATHS:]
            driver.work(15)
    driver.finish()


main()
