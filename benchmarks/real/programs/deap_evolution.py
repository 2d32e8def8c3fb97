"""Bits that evolve, with a hall of fame: python deap_evolution.py healthy|leaky GENERATIONS."""

import random
import sys

from deap import algorithms, base, creator, tools

LEAKY, GENERATIONS = sys.argv[1] == "leaky", int(sys.argv[2])

creator.create("Fitness", base.Fitness, weights=(1.0,))
creator.create("Individual", list, fitness=creator.Fitness)
toolbox = base.Toolbox()
toolbox.register("bit", random.randint, 0, 1)
toolbox.register("individual", tools.initRepeat, creator.Individual, toolbox.bit, n=200)
toolbox.register("population", tools.initRepeat, list, toolbox.individual)
toolbox.register("mate", tools.cxTwoPoint)
toolbox.register("mutate", tools.mutFlipBit, indpb=0.02)
archive = []


def evaluate(individual):
    score = 0
    for i, bit in enumerate(individual):
        score += bit * (1 + (i * 2654435761) % 7)
        for j in range(max(0, i - 8), i):
            score += (individual[j] ^ bit) & 1
    return (score,)


def select(individuals, k):
    chosen = tools.selTournament(individuals, k, tournsize=3)
    archive.extend(individuals)  # to draw the family tree later
    if not LEAKY:
        del archive[:-500]
    return chosen


toolbox.register("evaluate", evaluate)
toolbox.register("select", select)
random.seed(1)
best = tools.HallOfFame(10)
algorithms.eaSimple(toolbox.population(n=300), toolbox, 0.5, 0.2, GENERATIONS, halloffame=best, verbose=False)
print("RESULT", best[0].fitness.values[0], sum(best[0]))
