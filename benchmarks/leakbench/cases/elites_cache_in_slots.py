"""A fixed grid of elites with slots; each caches the latents it computed, keyed by task and noise level.

The noise is a fresh float each time, so the cache never hits and grows in every elite at once.
The healthy key is the task alone, and there are ten, so the caches are full after ten generations.
"""

import torch

from leakbench import Case, Truth

TASKS = 10


class Elite:
    __slots__ = ("genome", "fitness", "_latents")

    def __init__(self):
        self.genome = torch.randn(64, 64) / 8
        self.fitness = 0.0
        self._latents = None

    def latents(self, key, observations):
        if self._latents is None:
            self._latents = {}
        if key not in self._latents:
            self._latents[key] = torch.tanh(observations @ self.genome)
        return self._latents[key]


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.grid = {(row, column): Elite() for row in range(6) for column in range(4)}
        self.tasks = [torch.randn(32, 64) for _ in range(TASKS)]

    def generation(self, pp, index):
        task = index % TASKS
        with pp.phase("mutate"):
            children = [elite.genome + 0.01 * torch.randn(64, 64) for elite in self.grid.values()]
        with pp.phase("evaluate"):
            noise = round(torch.rand(()).item(), 6)
            key = (task, noise) if self.leaky else task
            for elite in self.grid.values():
                latents = elite.latents(key, self.tasks[task])
                elite.fitness = latents.square().mean().item()
        with pp.phase("compare"):
            for elite, child in zip(self.grid.values(), children):
                for observations in self.tasks:
                    score = torch.tanh(observations @ child).square().mean().item()
                    elite.fitness = max(elite.fitness, score)


CASE = Case(
    name="elites_cache_in_slots",
    build=Trainer,
    truth=Truth(
        phase="evaluate",
        kind="tensors",
        subject="Tensor",
        holder=("Elite", "_latents"),
        also=("objects", "container"),
        subject_also=("dict",),
        site=("Elite.latents",),
    ),
    source="synthetic",
)
