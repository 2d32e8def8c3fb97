"""A hall of fame is handed whole old populations instead of their best agent.

Sixteen agents and at most one champion are right.  The healthy hall holds the champion alone.
"""

import copy

import torch
from torch import nn

from leakbench import Case, Truth


class DDPGAgent:
    def __init__(self):
        self.actor = nn.Linear(24, 32)
        self.critic = nn.Linear(56, 64)

    @torch.no_grad()
    def mutated(self):
        child = copy.deepcopy(self)
        for parameter in (*child.actor.parameters(), *child.critic.parameters()):
            parameter.add_(0.02 * torch.randn_like(parameter))
        return child


class HallOfFame:
    def __init__(self):
        self.members = []


class EvolutionTrainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.population = [DDPGAgent() for _ in range(16)]
        self.hall = HallOfFame()

    @torch.no_grad()
    def fitness(self, agent):
        states = torch.randn(32, 24)
        actions = agent.actor(states)
        return agent.critic(torch.cat([states, actions], dim=1)).mean().item()

    def generation(self, pp, index):
        if index == 0:
            pp.watch(DDPGAgent, expected=(16, 17))
        with pp.phase("evaluate_population"):
            scores = [self.fitness(agent) for agent in self.population]
        with pp.phase("update_hall_of_fame"):
            ranked = [self.population[i] for i in sorted(range(16), key=scores.__getitem__, reverse=True)]
            if self.leaky:
                self.hall.members.extend(ranked)
            else:
                self.hall.members = ranked[:1]
        with pp.phase("evolve_population"):
            self.population = [ranked[i % 4].mutated() for i in range(16)]


CASE = Case(
    name="population_not_deleted",
    build=EvolutionTrainer,
    truth=Truth(
        phase="evolve_population",
        kind="objects",
        subject="DDPGAgent",
        holder=("HallOfFame", "members"),
        also=("tensors", "container"),
        subject_also=("Tensor", "Parameter", "Linear", "list"),
        site=("DDPGAgent.mutated",),
    ),
    source="synthetic",
)
