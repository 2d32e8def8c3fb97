"""Evolution strategies with a table of noise for each seed, kept in a default argument."""

import time

import torch

from leakbench import Case, Truth


def noise_for(seed, size=10_000, _tables={}):
    if seed not in _tables:
        _tables[seed] = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return _tables[seed]


class Strategy:
    def __init__(self, leaky):
        self.seed_pool = None if leaky else 40  # with a pool the seeds come back, and the tables are used again
        self.mean = torch.zeros(10_000)
        self.drawn = 0

    def next_seed(self):
        self.drawn += 1
        return self.drawn % self.seed_pool if self.seed_pool else self.drawn

    def generation(self, pp, index):
        with pp.phase("perturb"):
            seeds = [self.next_seed() for _ in range(4)]
            fitness = [float((self.mean + 0.1 * noise_for(seed)).square().mean()) for seed in seeds]
            time.sleep(0.1)
        with pp.phase("update"):
            base = sum(fitness) / len(fitness)
            for seed, value in zip(seeds, fitness):
                self.mean -= 0.01 * (value - base) * noise_for(seed)
            time.sleep(0.1)


CASE = Case(
    name="blind2_noise_tables",
    build=Strategy,
    truth=Truth(
        phase="perturb",
        kind="tensors",
        subject="Tensor",
        holder=("noise_for",),
        also=("container", "objects", "native"),
        subject_also=("dict",),
    ),
    source="https://github.com/getnikola/nikola/pull/1532",
    generations=36,
)
