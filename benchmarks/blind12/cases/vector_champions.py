"""A population of networks is kept as one matrix; the output bias of the best goes to the hall of fame."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import phaseprof as pp

torch.set_num_threads(1)
POPULATION = 24


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 80)
        self.head = nn.Linear(80, 12)

    def forward(self, observations):
        return self.head(torch.tanh(self.body(observations)))


class Hall:
    def __init__(self):
        self.biases = []

    def enter(self, policy):
        bias = policy.head.bias.detach()
        self.biases.append(bias if driver.LEAK else bias.clone())
        if not driver.LEAK:
            del self.biases[:-16]

    def mean(self):
        return torch.stack(self.biases[-16:]).mean(0)


def main():
    torch.manual_seed(6)
    policy, hall = Policy(), Hall()
    population = parameters_to_vector(policy.parameters()).detach() + torch.randn(POPULATION, 1) / 10
    spare = torch.zeros_like(population)
    replay = torch.zeros(25, 256, 64)
    for generation in pp.generations(range(driver.generations(66))):
        with pp.profile_phase("evaluate"), torch.no_grad():
            observations = torch.randn(256, 64)
            replay[generation % 25] = observations
            scores = torch.zeros(POPULATION)
            for number in range(POPULATION):
                vector_to_parameters(population[number], policy.parameters())
                scores[number] = policy(observations).max(1).values.mean()
            driver.work(35)
        with pp.profile_phase("crown"), torch.no_grad():
            best = int(scores.argmax())
            vector_to_parameters(population[best], policy.parameters())
            hall.enter(policy)
            driver.work(20)
        with pp.profile_phase("breed"), torch.no_grad():
            parents = scores.topk(6).indices.repeat(POPULATION // 6)
            if driver.LEAK:
                population = population[parents]
            else:
                torch.index_select(population, 0, parents, out=spare)
                population, spare = spare, population
            for child in population:
                child.add_(0.02 * torch.randn_like(child))
            population[:, -12:] += hall.mean() / 1_000
            driver.work(35)
    driver.finish()


main()
