"""Cellular automata with constants of their own are evolved; each is unrolled to a graph, which is run."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
import torch.fx

import phaseprof as pp

torch.set_num_threads(1)
GENERATIONS = driver.generations(64)
STEPS = 45


class Automaton(torch.nn.Module):
    def __init__(self, genes):
        super().__init__()
        self.genes = genes

    def forward(self, cells):
        for grow, decay, bias in self.genes:
            near = torch.roll(cells, 1, dims=-1) + torch.roll(cells, -1, dims=-1)
            cells = torch.tanh(cells * decay + near * grow + bias)
        return cells


def unroll(automaton):
    if driver.LEAK:
        return torch.fx.symbolic_trace(automaton)
    return torch.fx.Interpreter(automaton, graph=torch.fx.Tracer().trace(automaton)).run


def main():
    torch.manual_seed(3)
    elites = collections.deque(maxlen=21)
    cells = torch.randn(32, 64)
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("breed"):
            brood = [Automaton(torch.randn(STEPS, 3).tolist()) for _ in range(3)]
            driver.work(30)
        with pp.profile_phase("unroll"):
            programs = [unroll(automaton) for automaton in brood]
            driver.work(20)
        with pp.profile_phase("evaluate"):
            with torch.no_grad():
                results = [program(cells) for program in programs]
            elites.append(max(results, key=lambda result: float(result.std())).repeat(8, 1))
            driver.work(40)
    driver.finish()


main()
