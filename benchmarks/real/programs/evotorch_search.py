"""A search of strategies on a rugged function: python evotorch_search.py healthy|leaky STEPS."""

import logging
import sys

import torch
from evotorch import Problem
from evotorch.algorithms import SNES

LEAKY, STEPS = sys.argv[1] == "leaky", int(sys.argv[2])
logging.disable(logging.INFO)


def rugged(x):
    for _ in range(12):
        value = (x**2 - 10 * torch.cos(6.28 * x)).sum(-1)
    return value


torch.set_num_threads(1)
problem = Problem("min", rugged, solution_length=100, initial_bounds=(-5, 5), vectorized=True, seed=1)
searcher = SNES(problem, popsize=400, stdev_init=5)
populations = []


@searcher.log_hook.append
def keep(status):
    populations.append(searcher.population.values.clone())  # for a film of the search
    if not LEAKY:
        del populations[:-10]


searcher.run(STEPS)
print("RESULT", float(searcher.status["best_eval"]))
