"""A genetic programming run keeps the programs of all generations instead of the last two."""

import numpy as np

from leakbench import Case, Truth


class Program:
    def __init__(self, genes, rows):
        self.genes = genes
        self.rows = rows
        self.fitness = 0.0

    def child(self, rng):
        genes = self.genes + 0.1 * rng.standard_normal(self.genes.shape)
        return Program(genes, rng.integers(0, 2000, 1500))


class Breeder:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.data = self.rng.standard_normal((2000, 8))
        self.programs = [[Program(self.rng.standard_normal(8), self.rng.integers(0, 2000, 1500)) for _ in range(50)]]

    def generation(self, pp, index):
        population = self.programs[-1]
        with pp.phase("evaluate_population"):
            for program in population:
                program.fitness = float(-np.abs(self.data[program.rows] @ program.genes - 1.0).mean())
        with pp.phase("select"):
            parents = sorted(population, key=lambda program: program.fitness)[-10:]
        with pp.phase("breed"):
            self.programs.append([parents[i % 10].child(self.rng) for i in range(50)])
            if not self.leaky:
                del self.programs[:-2]


CASE = Case(
    name="generations_kept",
    build=Breeder,
    truth=Truth(
        phase="breed",
        kind="objects",
        subject="Program",
        holder=("Breeder", "programs"),
        also=("arrays", "container"),
        subject_also=("ndarray", "list"),
        site=("Program.child", "Breeder.generation"),
    ),
    source="trevorstephens/gplearn#5, PR#12, #89",
)
