"""Evolution with DEAP: the genealogy keeps a copy of every individual that was ever bred."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import random

from deap import base, creator, tools

import phaseprof as pp

creator.create("Fitness", base.Fitness, weights=(1.0,))
creator.create("Individual", list, fitness=creator.Fitness)


class Evolution:
    def __init__(self):
        self.toolbox = tools_box = base.Toolbox()
        tools_box.register("genome", lambda: creator.Individual(random.random() for _ in range(96)))
        tools_box.register("mate", tools.cxBlend, alpha=0.3)
        tools_box.register("mutate", tools.mutGaussian, mu=0.0, sigma=0.1, indpb=1.0)
        self.population = [tools_box.genome() for _ in range(60)]
        self.hall_of_fame = tools.HallOfFame(150)
        self.history = tools.History()

    @pp.profile_phase("select")
    def select(self):
        for individual in self.population:
            individual.fitness.values = (-sum((x - 0.5) ** 2 for x in individual),)
        self.hall_of_fame.update(self.population)
        chosen = tools.selTournament(self.population, len(self.population), tournsize=3)
        self.population = [self.toolbox.clone(individual) for individual in chosen]

    @pp.profile_phase("vary")
    def vary(self, generation):
        if not driver.LEAK and generation % 6 == 0:
            self.history = tools.History()  # a new family tree now and then
        for one, other in zip(self.population[::2], self.population[1::2]):
            self.toolbox.mate(one, other)
        for individual in self.population:
            self.toolbox.mutate(individual)
            del individual.fitness.values
        self.history.update(self.population)

    @pp.profile_phase("simulate")
    def simulate(self):
        driver.work(60)


def main():
    random.seed(1)
    evolution = Evolution()
    for generation in pp.generations(range(driver.GENERATIONS)):
        evolution.select()
        evolution.vary(generation)
        evolution.simulate()
    driver.finish()


main()
